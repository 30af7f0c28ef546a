import type { Call } from '../../../../src/gateway/pipeline/call.ts'
import { type ChainId, type Operation, Refusal } from '../../../../src/kernel/index.ts'
import { arrivedCall, headersOf } from '../../../harness/call.ts'

export function portalCall(
  operation: Operation,
  headers: Record<string, string> = {},
  chainId: ChainId = 'consumer',
  query = '',
): Call {
  const call = arrivedCall(operation, { chainId, query, headers: headersOf(headers) })
  call.portal = 'CONSUMER'
  return call
}

/** Undefined if nothing is thrown. */
export async function refused(run: () => unknown): Promise<unknown> {
  try {
    await run()
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.detail.field]
    throw error
  }
  return undefined
}
