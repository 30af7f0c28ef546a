import { withAbort } from '../abort.ts'
import { clientError, isPorticoError, type PorticoError, passkeysUnavailable } from '../errors.ts'
import type { OperationCaller } from '../operation-types.ts'
import type {
  Authenticator,
  FactorStep,
  LastSteps,
  NewPasskey,
  PasskeyAssertion,
  PasskeyOperations,
  PasskeyRequest,
  PasskeySignIn,
  Passkeys,
  RegisteredPasskey,
  StepUpPurpose,
} from './feature.ts'

export class ClientPasskeys implements Passkeys {
  private readonly operations: PasskeyOperations
  private readonly authenticator: Authenticator
  private ceremony: AbortController | null = null

  constructor(operations: PasskeyOperations, authenticator: Authenticator) {
    this.operations = operations
    this.authenticator = authenticator
  }

  signIn<T>(
    caller: OperationCaller,
    complete: (steps: LastSteps) => Promise<T>,
    { autofill = false, signal: given }: PasskeySignIn = {},
  ): Promise<T> {
    const { createPasskeyRequest, verifyPasskey, startWithPasskey } = this.operations
    return this.run(given, async (signal) => {
      const { passkey, rpId } = await this.select(autofill, signal, async () => {
        return (await caller.answer(createPasskeyRequest, { body: {}, signal })).data
      })
      const args = { body: { credential: passkey }, signal }
      const data = await complete({
        cookie: async () => (await caller.answer(startWithPasskey, args)).data,
        tokens: async () => (await caller.answer(verifyPasskey, args)).data,
      })
      void this.retainListed(caller, rpId, passkey)
      return data
    })
  }

  prove<T>(caller: OperationCaller, sessionId: string, step: FactorStep<T>): Promise<{ done: T } | null> {
    const { createPasskeyRequest } = this.operations
    return this.use(step, async (signal) => {
      return (await caller.answer(createPasskeyRequest, { body: { sessionId }, signal })).data
    })
  }

  confirm<T>(caller: OperationCaller, purpose: StepUpPurpose, step: FactorStep<T>): Promise<{ done: T } | null> {
    const { createStepUpPasskeyOptions } = this.operations
    return this.use(step, async (signal) => {
      return (await caller.answer(createStepUpPasskeyOptions, { body: { purpose }, signal })).data
    })
  }

  add(caller: OperationCaller, { name, enrollmentToken, signal: given }: NewPasskey = {}): Promise<RegisteredPasskey> {
    const { createPasskeyOptions, registerPasskey } = this.operations
    return this.run(given, async (signal) => {
      const { data: options } = await caller.answer(createPasskeyOptions, {
        body: enrollmentToken === undefined ? undefined : { enrollmentToken },
        signal,
      })
      const credential = await this.authenticator.create(options, signal)
      const body = { credential, ...(name !== undefined && { name }) }
      return (await caller.answer(registerPasskey, { body, signal })).data
    })
  }

  async remove(caller: OperationCaller, passkeyBizId: string): Promise<void> {
    const { data: removed } = await caller.answer(this.operations.deletePasskey, { body: { passkeyBizId } })
    const { rpId, credentialId } = removed
    if (rpId !== null) await this.authenticator.forget?.({ rpId, credentialId })
  }

  abandon(): void {
    this.ceremony?.abort(clientError('CLIENT.PASSKEY_ABORTED', 'another sign-in has begun'))
    this.ceremony = null
  }

  private async use<T>(
    step: FactorStep<T>,
    request: (signal: AbortSignal) => Promise<PasskeyRequest>,
  ): Promise<{ done: T } | null> {
    let failed: PorticoError | null = this.authenticator.isSupported() ? null : passkeysUnavailable()
    while (await step.isWanted(failed)) {
      try {
        const passkey = await this.run(undefined, async (signal) =>
          this.authenticator.get(await request(signal), { autofill: false, signal }),
        )
        return { done: await step.verify(passkey) }
      } catch (error) {
        if (!isPorticoError(error, ...failures)) throw error
        failed = error
      }
    }
    if (failed && !step.hasOther) throw failed
    return null
  }

  /** Requests a new challenge before the previous one expires, because suggestions can wait for hours. */
  private async select(
    autofill: boolean,
    signal: AbortSignal,
    request: () => Promise<PasskeyRequest>,
  ): Promise<{ passkey: PasskeyAssertion; rpId: string }> {
    for (;;) {
      const options = await request()
      const round = new AbortController()
      const end = (): void => round.abort(signal.reason)
      signal.addEventListener('abort', end)
      const timer = autofill ? setTimeout(() => round.abort(), options.timeout * renewAfter) : undefined
      try {
        const passkey = await this.authenticator.get(options, { autofill, signal: round.signal })
        return { passkey, rpId: options.rpId }
      } catch (error) {
        signal.throwIfAborted()
        if (!round.signal.aborted) throw error
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
      }
    }
  }

  /** Runs a ceremony, after the end of the previous one. */
  private async run<T>(given: AbortSignal | undefined, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    given?.throwIfAborted()
    this.abandon()
    const ceremony = new AbortController()
    this.ceremony = ceremony
    const end = (): void => ceremony.abort(given?.reason)
    given?.addEventListener('abort', end)
    try {
      return await withAbort(ceremony.signal, () => task(ceremony.signal))
    } finally {
      given?.removeEventListener('abort', end)
      if (this.ceremony === ceremony) this.ceremony = null
    }
  }

  /** Passkeys that were deleted in another browser. */
  private async retainListed(caller: OperationCaller, rpId: string, { response }: PasskeyAssertion): Promise<void> {
    const { userHandle } = response
    if (!userHandle || !this.authenticator.retain) return
    const listed = await caller.answer(this.operations.listPasskeys, {}).catch(() => null)
    if (!listed) return
    const credentialIds = listed.data.map(({ credentialId }) => credentialId)
    await this.authenticator.retain({ rpId, userId: userHandle, credentialIds })
  }
}

/** Of the lifetime of a challenge. */
const renewAfter = 0.8

/** After these, the user can try again, or use another factor. */
const failures = ['CLIENT.PASSKEY_CANCELLED', 'CLIENT.PASSKEY_UNAVAILABLE', 'AUTH.PASSKEY_INVALID'] as const
