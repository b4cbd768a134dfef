import { PAGE_ROUTES } from '@millrace/contract';
import { Controller, Inject, NotFoundException, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { HandleRoute } from '../http/routes.js';
import { PageFiles } from './page-files.js';

const [FIRST_VIEW, ...OTHER_VIEWS] = PAGE_ROUTES.views;

/** Serves the page that people look at. */
@Controller()
export class PageController {
  readonly #files: PageFiles;

  constructor(@Inject(PARTS) { pageFolder }: ServerParts) {
    this.#files = new PageFiles(pageFolder);
  }

  @HandleRoute(FIRST_VIEW, ...OTHER_VIEWS)
  async view(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | ''> {
    return (await this.#files.html()).answer(request, reply);
  }

  @HandleRoute(PAGE_ROUTES.asset)
  async asset(
    @Param('file') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | ''> {
    const file = await this.#files.asset(name);
    if (!file) throw new NotFoundException(`Cannot GET ${request.url.split('?')[0]}`);
    return file.answer(request, reply);
  }
}
