import type { IdentityPorts } from '../../src/identity/index.ts'
import { forgotPassword } from '../../src/identity/passwords/contract.ts'
import { initiateRegistration } from '../../src/identity/registration/contract.ts'
import type { RequestContext } from '../../src/kernel/index.ts'
import { call, createRequestContext, type Harness, harness, mailedCode } from './harness.ts'

export const newPassword = 'violet-Anchor-Tundra-58'

/** Opens the CONSUMER portal for registration. */
export const recoveryHarness = (changePorts: (ports: IdentityPorts) => void): Promise<Harness> =>
  harness((settings) => {
    settings.portals.CONSUMER.selfRegistration = 'open'
    settings.portals.CONSUMER.codeSends.limit = 3
  }, changePorts)

export const callAnonymously = <O extends Parameters<typeof call>[1]>(
  at: Harness,
  operation: O,
  body: unknown,
  more: Partial<RequestContext> = {},
) => call(at.identity, operation, createRequestContext(at.clock, more), body)

export const requestResetLink = async (
  at: Harness,
  email: string,
  more: Partial<RequestContext> = {},
): Promise<void> => {
  await callAnonymously(at, forgotPassword, { email, turnstileToken: '' }, more)
  await at.background.idle()
}

export const resetTokenOf = (at: Harness, email: string): string | undefined =>
  /#token=([\w-]+)/.exec(at.outbox.list().find((mail) => mail.to === email)?.text ?? '')?.[1]

/** Returns the mailed code. */
export const beginRegistration = async (at: Harness, email: string) => {
  const { sessionId } = await callAnonymously(at, initiateRegistration, { email, turnstileToken: '' })
  await at.background.idle()
  return { sessionId, code: mailedCode(at, email) }
}
