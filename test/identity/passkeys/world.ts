import { Kysely } from 'kysely'
import type { z } from 'zod'
import { EmbeddedStore } from '../../../src/database/embedded/dialect.ts'
import type { TraceStatement } from '../../../src/database/index.ts'
import type { Tables } from '../../../src/database/tables.ts'
import * as auth from '../../../src/identity/login/contract.ts'
import { createStepUpPasskeyOptions, stepUp } from '../../../src/identity/mfa/contract.ts'
import * as passkeys from '../../../src/identity/passkeys/contract.ts'
import type { IdentityPorts } from '../../../src/identity/ports.ts'
import type { IdentitySettings } from '../../../src/identity/settings.ts'
import type { AccountId, Caller, Operation, Permission, Portal, RequestContext } from '../../../src/kernel/index.ts'
import { type Ceremony, SoftwareAuthenticator } from '../../harness/authenticator.ts'
import { migratedPglite } from '../../harness/prepared-pglite.ts'
import { call, createRequestContext, credential, type Harness, harness, signIn } from '../harness.ts'

export const origin = 'https://bank.example'
export const rpId = 'bank.example'

function withPasskeys(settings: IdentitySettings): void {
  const configured = { rpId, origins: [origin], userVerification: 'required', attestation: 'none' } as const
  settings.portals.CONSUMER.passkeys = { ...configured, origins: [origin] }
  settings.portals.SYSTEM.passkeys = { ...configured, origins: [origin] }
  settings.portals.CONSUMER.mfa.mailCodes = 'always'
  settings.portals.SYSTEM.mfa.mailCodes = 'always'
}

export interface Person {
  email: string
  id: AccountId
  portal: Portal
  caller: Caller
  device: SoftwareAuthenticator
}

let people = 0

/** A harness with passkeys, and what people do with it. */
export async function passkeyWorld(
  change: (settings: IdentitySettings) => void = () => {},
  changePorts: (ports: IdentityPorts) => void = () => {},
) {
  const { pglite, close } = await migratedPglite()
  const statements: string[] = []
  const trace: TraceStatement = (text, send) => {
    statements.push(text)
    return send()
  }
  const database = new Kysely<Tables>({ dialect: new EmbeddedStore(pglite, undefined, trace).dialect('database') })
  const configure = (settings: IdentitySettings) => {
    withPasskeys(settings)
    for (const portal of Object.values(settings.portals)) portal.codeSends.limit = 1_000
    change(settings)
  }
  const at: Harness = await harness(configure, changePorts, { database, close })
  const contextOf = (portal: Portal, more: Partial<RequestContext> = {}) =>
    createRequestContext(at.clock, { portal, ...more })
  const run = <O extends Operation>(
    operation: O,
    body: unknown,
    { portal = 'CONSUMER', caller = null, ...more }: Partial<RequestContext> & { caller?: Caller | null } = {},
  ): Promise<z.output<Extract<O['reply'], z.ZodType>>> =>
    call(at.identity, operation, contextOf(portal, { ...more, operationId: operation.id }), body, caller)

  const person = async (more: { portal?: Portal; operatorPermissions?: Permission[] } = {}): Promise<Person> => {
    const { portal = 'CONSUMER' } = more
    people += 1
    const email = `person-${people}@people.test`
    const id = await at.account(email, { ...more, portal: portal === 'SYSTEM' ? 'SYSTEM' : 'CONSUMER' })
    const { accessToken } = await signIn(at, email, { portal })
    const caller = await at.identity.authentication.accessToken(credential(accessToken, { portal }))
    return { email, id, portal, caller, device: new SoftwareAuthenticator(origin) }
  }
  const register = async (by: Person, how: Ceremony = {}, name?: string) => {
    const options = await run(passkeys.createPasskeyOptions, {}, by)
    const created = by.device.create(options, how)
    return run(passkeys.registerPasskey, { credential: created, ...(name && { name }) }, by)
  }
  const options = (more: Partial<RequestContext> = {}) => run(auth.createPasskeyRequest, {}, more)
  return {
    at,
    run,
    person,
    register,
    options,
    /** The statements that `work` runs. */
    statementsOf: async (work: () => Promise<unknown>): Promise<string[]> => {
      const first = statements.length
      await work()
      return statements.slice(first)
    },
    /** Signs in without a name. */
    enter: async ({ device, portal }: Pick<Person, 'device' | 'portal'>, how: Ceremony = {}) =>
      run(auth.verifyPasskey, { credential: device.get(await options({ portal }), how) }, { portal }),
    /** Steps up with a passkey. */
    confirm: async (by: Person, purpose: object | undefined, how: Ceremony = {}) => {
      const request = await run(createStepUpPasskeyOptions, { ...(purpose && { purpose }) }, by)
      const passkey = by.device.get(request, how)
      return run(stepUp, { mfaMethod: 'PASSKEY', passkey, ...(purpose && { purpose }) }, by)
    },
    callerOf: ({ accessToken }: { accessToken: string }, portal: Portal = 'CONSUMER') =>
      at.identity.authentication.accessToken(credential(accessToken, { portal })),
  }
}

export type PasskeyWorld = Awaited<ReturnType<typeof passkeyWorld>>
