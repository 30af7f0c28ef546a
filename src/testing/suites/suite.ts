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

const codeIn = (body: unknown): unknown => (typeof body === 'object' && body && 'code' in body ? body.code : undefined)

/** Names the table of `promises` to edit. */
export const correctSample = (operationId: string, { text }: Reply): string =>
  `add or correct '${operationId}' in \`samples\` of promises(): ${text}`

export const needsSample = (operation: Operation): boolean =>
  pathParamNames(operation.path).length > 0 || idFieldsOf(operation).length > 0

/** A success has no code. */
export const outcomeOf = ({ status, body }: Reply): unknown[] => (status === 200 ? [200] : [status, codeIn(body)])

/** Ignores the time. */
export const distinctionsOf = ({ status, headers, text }: Reply): object => ({
  status,
  text: text.replace(/"timestamp":\d+/, ''),
  type: headers.get('content-type'),
  length: headers.get('content-length'),
})
