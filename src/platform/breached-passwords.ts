import { createHash } from 'node:crypto'
import type { DependencyLog } from './dependency-log.ts'
import { fetchText } from './http-client.ts'

export interface BreachCheck {
  isBreached(password: string): Promise<boolean>
}

export interface BreachCheckSettings {
  /** Such as https://api.pwnedpasswords.com/range/. */
  url: string
  /** Default: the user waits, and the strength estimate applies anyway. */
  timeoutMs?: number
}

const prefixDigits = 5
/** In bytes. A padded response takes about 40,000. */
const maxResponseBytes = 1_000_000

export const noBreachCheck: BreachCheck = { isBreached: async () => false }

/**
 * k-anonymity range queries (haveibeenpwned.com/API/v3#PwnedPasswords) send only the first five digits of the SHA-1. If
 * the service is unavailable, accepts the password, because the strength estimate still applies.
 */
export function createBreachCheck(
  { url, timeoutMs = 2_000 }: BreachCheckSettings,
  dependencies: DependencyLog,
): BreachCheck {
  const range = async (prefix: string): Promise<string> => {
    const headers = { 'add-padding': 'true' }
    const { ok, status, text } = await fetchText(url + prefix, {
      headers,
      timeoutMs,
      maxBytes: maxResponseBytes,
    })
    if (!ok) throw new Error(`the breach check returned status ${status}`)
    return text
  }
  return {
    isBreached: async (password) => {
      const digest = createHash('sha1').update(password.normalize('NFKC')).digest('hex').toUpperCase()
      try {
        const lines = (await range(digest.slice(0, prefixDigits))).split(/\r?\n/)
        dependencies.works('breach check')
        const line = lines.find((each) => each.toUpperCase().startsWith(`${digest.slice(prefixDigits)}:`))
        // Padding entries have a count of 0.
        return line !== undefined && Number(line.split(':')[1]) > 0
      } catch (error) {
        dependencies.failed('breach check', new Error('password accepted without it', { cause: error }))
        return false
      }
    },
  }
}
