import { readFileSync } from 'node:fs';
import { ROUTES } from '@millrace/contract';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { KeptAnswer } from '../http/kept-answer.js';
import { HandleRoute } from '../http/routes.js';
import { openApiDocument } from './openapi-document.js';
import type { OpenApiDocument } from './openapi-model.js';
import { docsPage } from './page.js';

const STYLE = new URL('../../assets/docs.css', import.meta.url);

/** Tells what can be asked of this server. */
@Controller()
export class DocsController {
  readonly #version: string;
  #document: OpenApiDocument | undefined;
  readonly #json = new KeptAnswer({ contentType: 'application/json; charset=utf-8' }, () =>
    JSON.stringify(this.#written()),
  );
  readonly #page = new KeptAnswer({ contentType: 'text/html; charset=utf-8' }, () =>
    docsPage(this.#written()),
  );
  readonly #style = new KeptAnswer({ contentType: 'text/css; charset=utf-8' }, () => readFileSync(STYLE));

  constructor(@Inject(PARTS) { version }: ServerParts) {
    this.#version = version;
  }

  @HandleRoute(ROUTES.getOpenApi)
  openApi(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | ''> {
    return this.#json.answer(request, reply);
  }

  @HandleRoute(ROUTES.getDocs)
  page(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | ''> {
    return this.#page.answer(request, reply);
  }

  @HandleRoute(ROUTES.getDocsStyle)
  style(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | ''> {
    return this.#style.answer(request, reply);
  }

  #written(): OpenApiDocument {
    this.#document ??= openApiDocument(this.#version);
    return this.#document;
  }
}
