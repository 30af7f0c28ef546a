import { z } from 'zod'
import { Refusal } from '../kernel/index.ts'
import { fetchText, parseJson } from './http-client.ts'

/** Verifies that a client has solved a challenge against bots. */
export interface Captcha {
  passes(token: string, clientIp: string): Promise<boolean>
}

/** The Turnstile service to query. */
export interface TurnstileSettings {
  secret: string
  /** Cloudflare's URL, or one of a compatible service. */
  verifyUrl: string
  timeoutMs: number
}

const Verdict = z.object({ success: z.boolean(), 'error-codes': z.array(z.string()).default([]) })

/** Failures of the service or of our configuration. Every other code means that the token is invalid. */
const faults = new Set(['internal-error', 'bad-request', 'missing-input-secret', 'invalid-input-secret'])

/** In bytes. A response takes a few hundred. */
const maxResponseBytes = 65_536

const unavailable = (internal: string, cause?: unknown): Refusal =>
  new Refusal('SYSTEM.UNAVAILABLE', { internal: `turnstile: ${internal}`, retryAfter: 5, cause })

/** Used in a deployment without a CAPTCHA. Every token passes. */
export const noCaptcha: Captcha = { passes: async () => true }

/**
 * Cloudflare Turnstile's server-side validation (developers.cloudflare.com/turnstile/get-started/server-side-validation).
 * The service accepts a token once, for five minutes. If it is unavailable, throws SYSTEM.UNAVAILABLE.
 */
export const createTurnstile = ({ secret, verifyUrl, timeoutMs }: TurnstileSettings): Captcha => {
  const requestVerdict = async (token: string, clientIp: string): Promise<unknown> => {
    const body = new URLSearchParams({ secret, response: token, remoteip: clientIp })
    try {
      return parseJson(
        (await fetchText(verifyUrl, { method: 'POST', body, timeoutMs, maxBytes: maxResponseBytes })).text,
      )
    } catch (cause) {
      throw unavailable('no response', cause)
    }
  }
  return {
    passes: async (token, clientIp) => {
      if (token === '') return false
      const verdict = Verdict.safeParse(await requestVerdict(token, clientIp)).data
      if (!verdict) throw unavailable('unexpected response')
      const fault = verdict['error-codes'].find((code) => faults.has(code))
      if (!verdict.success && fault) throw unavailable(fault)
      return verdict.success
    },
  }
}
