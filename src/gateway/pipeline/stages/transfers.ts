import type { Configuration } from '../../../config/index.ts'
import { rateLimited } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import { spenderOf } from './limits.ts'

export interface TransferLimitPorts {
  settings: Pick<Configuration['requests'], 'maxTransfersPerAccount' | 'maxTransfersPerAddress'>
  addressKey(address: string): string
  onRefused(): void
}

/** Each transfer holds a connection to a service or a file for as long as its client or the service is slow. */
export function transferLimitStage({ settings, addressKey, onRefused }: TransferLimitPorts): Stage {
  const counts = new Map<string, number>()
  return (call) => {
    if (!isTransfer(call)) return
    const { caller, clientIp } = call
    const key = caller ? spenderOf(caller) : `address ${addressKey(clientIp)}`
    const limit = caller ? settings.maxTransfersPerAccount : settings.maxTransfersPerAddress
    const count = counts.get(key) ?? 0
    if (count >= limit) {
      onRefused()
      throw rateLimited(1_000, `${limit} open transfers of the ${caller ? 'account' : 'address'}`)
    }
    counts.set(key, count + 1)
    call.onFinished = () => {
      const left = (counts.get(key) ?? 1) - 1
      if (left === 0) counts.delete(key)
      else counts.set(key, left)
    }
  }
}

/** Includes every request below a `passThrough` prefix, whose reply is raw. */
function isTransfer({ operation: { body, reply } }: Call): boolean {
  return body === 'multipart' || reply === 'stream' || reply === 'raw'
}
