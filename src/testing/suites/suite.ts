import { type Operation, pathParamNames } from '../../kernel/index.ts'
import type { Reply } from '../http.ts'
import { idFieldsOf } from '../inputs.ts'
import type { Runner } from '../runner.ts'
import type { World } from '../world.ts'

export interface Suite {
  runner: Runner
  /** Only tests can call it, because hooks open the world. */
  world(): World
}

/** Names the table of `promises` to edit. */
export function correctSample(operationId: string, { text }: Reply): string {
  return `add or correct '${operationId}' in \`samples\` of promises(): ${text}`
}

export function needsSample(operation: Operation): boolean {
  return pathParamNames(operation.path).length > 0 || idFieldsOf(operation).length > 0
}

/** A success has no code. */
export function outcomeOf({ status, body }: Reply): unknown[] {
  return status === 200 ? [200] : [status, codeIn(body)]
}

/** Ignores the time. */
export function distinctionsOf({ status, headers, text }: Reply): object {
  return {
    status,
    text: text.replace(/"timestamp":\d+/, ''),
    type: headers.get('content-type'),
    length: headers.get('content-length'),
  }
}

function codeIn(body: unknown): unknown {
  return typeof body === 'object' && body && 'code' in body ? body.code : undefined
}
