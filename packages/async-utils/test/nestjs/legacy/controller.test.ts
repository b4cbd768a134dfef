import { ConcurrencyLimit, Retryable, Timeout } from '@millrace/async-utils/nestjs';
import {
  Controller,
  Get,
  Header,
  HttpCode,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { expect, it } from 'vitest';
import { boot } from '../boot.js';

@Injectable()
class Numbers {
  failures = 2;

  async double(value: number): Promise<{ result: number }> {
    if (this.failures-- > 0) throw new Error('not yet');
    return { result: value * 2 };
  }
}

@ConcurrencyLimit(1)
@Controller('numbers')
class NumbersController {
  constructor(private readonly numbers: Numbers) {}

  @Get(':value')
  @Retryable({ backoff: () => 0 })
  @Header('x-above', 'no')
  @Timeout(1000)
  @SetMetadata('role', 'reader')
  async above(@Param('value', ParseIntPipe) value: number) {
    return this.numbers.double(value);
  }

  @Retryable({ backoff: () => 0 })
  @Post(':value')
  @HttpCode(202)
  async below(@Param('value', ParseIntPipe) value: number) {
    return this.numbers.double(value);
  }
}

it("async-utils SC-006, async-utils FR-015: Nest's own decorators work above, between and below ours", async () => {
  const app = await boot({ controllers: [NumbersController], providers: [Numbers] });
  const above = await app.inject('/numbers/21');
  expect([above.json(), above.headers['x-above']]).toEqual([{ result: 42 }, 'no']);
  expect(new Reflector().get('role', NumbersController.prototype.above)).toBe('reader');
  app.get(Numbers).failures = 2;
  const below = await app.inject({ method: 'POST', url: '/numbers/4' });
  expect([below.statusCode, below.json()]).toEqual([202, { result: 8 }]);
});
