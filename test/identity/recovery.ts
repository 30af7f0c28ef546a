import type { IdentityPorts } from '../../src/identity/index.ts'
import { forgotPassword } from '../../src/identity/passwords/contract.ts'
import { initiateRegistration } from '../../src/identity/registration/contract.ts'
import type { RequestContext } from '../../src/kernel/index.ts'
import { call, createRequestContext, type Harness, harness, mailedCode } from './harness.ts'

export const newPassword = 'violet-Anchor-Tundra-58'

/** Opens the CONSUMER portal for registration. */
export function recoveryHarness(changePorts: (ports: IdentityPorts) => void): Promise<Harness> {
  return harness((settings) => {
    settings.portals.CONSUMER.selfRegistration = 'open'
    settings.portals.CONSUMER.codeSends.limit = 3
  }, changePorts)
}

export function callAnonymously<O extends Parameters<typeof call>[1]>(
  at: Harness,
  operation: O,
  body: unknown,
  more: Partial<RequestContext> = {},
) {
  return call(at.identity, operation, createRequestContext(at.clock, more), body)
}

export async function requestResetLink(at: Harness, email: string, more: Partial<RequestContext> = {}): Promise<void> {
  await callAnonymously(at, forgotPassword, { email, turnstileToken: '' }, more)
  await at.background.idle()
}

export function resetTokenOf(at: Harness, email: string): string | undefined {
  return /#token=([\w-]+)/.exec(at.outbox.list().find((mail) => mail.to === email)?.text ?? '')?.[1]
}

/** Returns the mailed code. */
export async function beginRegistration(at: Harness, email: string) {
  const { sessionId } = await callAnonymously(at, initiateRegistration, { email, turnstileToken: '' })
  await at.background.idle()
  return { sessionId, code: mailedCode(at, email) }
}
