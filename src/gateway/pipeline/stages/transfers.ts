import type { Configuration } from '../../../config/index.ts'
import { rateLimited } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import { spenderOf } from './limits.ts'

const isTransfer = ({ operation: { body, reply } }: Call): boolean => body === 'multipart' || reply === 'stream'

/** Each transfer holds a connection and a file for as long as its client is slow. */
export function transferLimitStage(
  { maxTransfersPerAccount: limit }: Pick<Configuration['requests'], 'maxTransfersPerAccount'>,
  onRefused: () => void,
): Stage {
  const counts = new Map<string, number>()
  return (call) => {
    if (!call.caller || !isTransfer(call)) return
    const key = spenderOf(call.caller)
    const count = counts.get(key) ?? 0
    if (count >= limit) {
      onRefused()
      throw rateLimited(1_000, `${limit} open uploads and downloads of the account`)
    }
    counts.set(key, count + 1)
    call.onFinished = () => {
      const left = (counts.get(key) ?? 1) - 1
      if (left === 0) counts.delete(key)
      else counts.set(key, left)
    }
  }
}
