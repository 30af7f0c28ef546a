import type { IdentityPorts } from '../../src/identity/index.ts'
import { forgotPassword } from '../../src/identity/passwords/contract.ts'
import { initiateRegistration } from '../../src/identity/registration/contract.ts'
import { call, createRequestContext, type Harness, harness, mailedCode } from './harness.ts'

export const newPassword = 'violet-Anchor-Tundra-58'

/** Creates a harness whose CONSUMER portal is open for registration. */
export const recoveryHarness = (changePorts: (ports: IdentityPorts) => void): Promise<Harness> =>
  harness((settings) => {
    settings.portals.CONSUMER.selfRegistration = 'open'
    settings.portals.CONSUMER.codeSends.limit = 3
  }, changePorts)

/** Calls an operation without a caller. */
export const callAnonymously = <O extends Parameters<typeof call>[1]>(at: Harness, operation: O, body: unknown) =>
  call(at.identity, operation, createRequestContext(at.clock), body)

/** Requests a reset link and waits for its mail. */
export const requestResetLink = async (at: Harness, email: string): Promise<void> => {
  await callAnonymously(at, forgotPassword, { email, turnstileToken: '' })
  await at.background.idle()
}

/** Returns the token of the newest reset link to an address. */
export const resetTokenOf = (at: Harness, email: string): string | undefined =>
  /#token=([\w-]+)/.exec(at.outbox.list().find((mail) => mail.to === email)?.text ?? '')?.[1]

/** Starts a registration and returns the mailed code. */
export const beginRegistration = async (at: Harness, email: string) => {
  const { sessionId } = await callAnonymously(at, initiateRegistration, { email, turnstileToken: '' })
  await at.background.idle()
  return { sessionId, code: mailedCode(at, email) }
}
