import { z } from 'zod'
import { Refusal } from '../kernel/index.ts'
import type { DependencyLog } from './dependency-log.ts'
import { fetchText, parseJson } from './http-client.ts'

export interface Captcha {
  passes(token: string, clientIp: string): Promise<boolean>
}

export interface TurnstileSettings {
  secret: string
  verifyUrl: string
  /** Default: Cloudflare answers within half a second, and the user waits. */
  timeoutMs?: number
}

const Verdict = z.object({ success: z.boolean(), 'error-codes': z.array(z.string()).default([]) })

/** Faults of the service or of our configuration. Every other code means an invalid token. */
const faults = new Set(['internal-error', 'bad-request', 'missing-input-secret', 'invalid-input-secret'])

/** In bytes. A response takes a few hundred. */
const maxResponseBytes = 65_536

export const noCaptcha: Captcha = { passes: async () => true }

/**
 * See developers.cloudflare.com/turnstile/get-started/server-side-validation. The service accepts each token once,
 * within five minutes. Throws SYSTEM.UNAVAILABLE if it is unavailable.
 */
export function createTurnstile(
  { secret, verifyUrl, timeoutMs = 3_000 }: TurnstileSettings,
  dependencies?: DependencyLog,
): Captcha {
  const fail = (internal: string, cause?: unknown): Refusal => {
    const refusal = new Refusal('SYSTEM.UNAVAILABLE', { internal: `turnstile: ${internal}`, retryAfter: 5, cause })
    dependencies?.failed('captcha', refusal)
    return refusal
  }
  const requestVerdict = async (token: string, clientIp: string): Promise<unknown> => {
    const body = new URLSearchParams({ secret, response: token, remoteip: clientIp })
    try {
      return parseJson(
        (await fetchText(verifyUrl, { method: 'POST', body, timeoutMs, maxBytes: maxResponseBytes })).text,
      )
    } catch (cause) {
      throw fail('no response', cause)
    }
  }
  return {
    passes: async (token, clientIp) => {
      if (token === '') return false
      const verdict = Verdict.safeParse(await requestVerdict(token, clientIp)).data
      if (!verdict) throw fail('unexpected response')
      const fault = verdict['error-codes'].find((code) => faults.has(code))
      if (!verdict.success && fault) throw fail(fault)
      dependencies?.works('captcha')
      return verdict.success
    },
  }
}
