/*
 * Writes the entries of the portals. An entry has each operation as a constant of plain data, of which a bundler keeps those
 * that a page calls. Entries below `unchecked` have no schemas.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { portalChains } from '../../src/client/routes.ts'
import { chains, type FixedPortal } from '../../src/kernel/index.ts'
import { commentOf, type Method, methods } from './methods.ts'
import { ReplyChecks } from './reply-checks.ts'
import { comment } from './type-text.ts'

interface Entry {
  portal: FixedPortal
  methodsType: keyof typeof methods
  feed: Feed
}

/** The operations that list and stream the events. */
type Feed = readonly [list: string, stream: string]

/** The interface of a portal's methods, by the name of its entry. */
const portals = {
  consumer: { portal: 'CONSUMER', methodsType: 'ConsumerMethods', feed: ['listEvents', 'streamEvents'] },
  system: { portal: 'SYSTEM', methodsType: 'SystemMethods', feed: ['listAllEvents', 'streamAllEvents'] },
} as const satisfies Record<string, Entry>

/** The files of the entries. */
const entryFiles: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [...Object.keys(portals).flatMap((name) => [name, `unchecked/${name}`]), 'forms'].map((name) => [name, name]),
  ),
  passkeys: 'passkeys/index',
  webhooks: 'webhooks/index',
}

/** The entries of a manifest, for a folder below its root. */
export function entryExports(subpath: string, folder: string): Record<string, { types: string; default: string }> {
  return Object.fromEntries(
    Object.entries(entryFiles).map(([name, file]) => [
      `${subpath}/${name}`,
      { types: `${folder}/${file}.d.ts`, default: `${folder}/${file}.js` },
    ]),
  )
}

/** Writes to the folder `client` of the package. */
export function writeEntries(folder: string): void {
  mkdirSync(join(folder, 'unchecked'), { recursive: true })
  for (const [name, { portal, methodsType, feed }] of Object.entries(portals)) {
    const all = methods[methodsType]
    const taken = all.filter((method) => reserved.includes(method.name))
    if (taken.length > 0) throw new TypeError(`rename the operation ${taken[0]?.name}: an entry exports this name`)
    const missing = feed.find((operation) => !all.some((method) => method.name === operation))
    if (missing !== undefined) throw new TypeError(`the contract has no operation ${missing}`)
    const checks = new ReplyChecks()
    const checked = constants(all, (schema) => checks.check(schema))
    const zod = "import * as z from 'zod/mini'\n"
    writeFileSync(
      join(folder, `${name}.js`),
      program(portal, feed, './', `${zod}`, `${checks.declarations}\n${checked}`),
    )
    const unchecked = `const unchecked = { safeParse: (data) => ({ success: true, data }) }\n${constants(all, () => 'unchecked')}`
    writeFileSync(join(folder, 'unchecked', `${name}.js`), program(portal, feed, '../', '', unchecked))
    writeFileSync(join(folder, `${name}.d.ts`), declarations(portal, methodsType))
    writeFileSync(join(folder, 'unchecked', `${name}.d.ts`), `export * from '../${name}.js'\n`)
  }
}

const passkeyFunctions = ['signInWithPasskey', 'addPasskey', 'removePasskey']
const reexported = ['iterate', 'isPorticoError', 'isRefusal', 'PorticoError', 'socketProtocols', ...passkeyFunctions]
const functions = [
  'createClient',
  'cookieSession',
  'tokenSession',
  'signIn',
  'followEvents',
  'secureChannel',
  'stepUpByCode',
  'passkeys',
]
const reserved = [...reexported, ...functions]

function program(portal: FixedPortal, [list, stream]: Feed, root: string, imports: string, operations: string): string {
  return `/* Generated from the contract by scripts/client/entries.ts. */
${imports}import { confirmByCode, cookieMode, createPortalClient, createSecureChannel, followEventsOf, retry, sendByXhr, signInTo, tokenMode } from '${root}portal/index.js'
export { ${reexported.join(', ')} } from '${root}portal/index.js'
${operations}
export function createClient(options) {
  return createPortalClient('${portal}', ${JSON.stringify(chainsOf(portal))}, options)
}
export function cookieSession({ storage } = {}) {
  return cookieMode({ readBrowserSession, endBrowserSession }, storage)
}
export function tokenSession({ storage, dpop } = {}) {
  return tokenMode({ logout, refreshToken }, storage, dpop)
}
export function signIn(client, input) {
  return signInTo(client, { initiateLogin, sendLoginCode, completeLogin, startBrowserSession }, input)
}
export function followEvents(client, options = {}) {
  return followEventsOf(client, { list: ${list}, stream: ${stream} }, options)
}
export function secureChannel() {
  return createSecureChannel({ readPublicKey, openSecureChannel, closeSecureChannel })
}
export function stepUpByCode(prompt) {
  return confirmByCode({ listMfaMethods, sendStepUpCode, stepUp }, prompt)
}
export function passkeys(feature) {
  const ofSignIn = { createPasskeyRequest, verifyPasskey, startWithPasskey, createStepUpPasskeyOptions }
  const ofAccount = { createPasskeyOptions, registerPasskey, listPasskeys, deletePasskey }
  return feature({ ...ofSignIn, ...ofAccount })
}
`
}

function chainsOf(portal: FixedPortal) {
  return Object.fromEntries(portalChains[portal].map((chainId) => [chainId, chains[chainId]]))
}

function constants(all: readonly Method[], checkOf: (schema: Exclude<Method['operation']['reply'], string>) => string) {
  return all
    .map(({ name, chainId, operation }) => {
      const { id, method, path, machineParams, confirms, body, reply } = operation
      const { caller, workspace, stepUp, channel, rate, idempotent } = operation.policy
      const data = JSON.stringify({
        id,
        method,
        path,
        chains: [chainId],
        ...(machineParams && { machineParams }),
        ...(confirms && { confirms }),
        policy: { caller, workspace, stepUp, channel, rate, idempotent },
        body: typeof body === 'string' ? body : 'json',
      })
      const check = typeof reply === 'string' ? JSON.stringify(reply) : checkOf(reply)
      return `export const ${name} = ${data.slice(0, -1)},"reply":${check}${partsOf(operation)}}`
    })
    .join('\n')
}

/** Code that a page needs only if it calls the operation. */
function partsOf({ body, policy }: Method['operation']): string {
  const isRetried = policy.idempotent || policy.rate === 'refresh'
  return `${body === 'multipart' ? ',"upload":sendByXhr' : ''}${isRetried ? ',"retry":retry' : ''}`
}

function declarations(portal: FixedPortal, methodsType: keyof typeof methods): string {
  const operations = methods[methodsType].map(
    (method) =>
      `${comment(commentOf(method))}export declare const ${method.name}: PortalOperation<'${portal}', ${methodsType}['${method.name}']>\n`,
  )
  return `/* Generated from the contract by scripts/client/entries.ts. */
import type { ${methodsType} } from './methods.js'
import type {
  ChannelFeature,
  EventsOptions,
  PasskeyFeature,
  Passkeys,
  PortalClient,
  PortalClientOptions,
  PortalOperation,
  PorticoEvent,
  ReceivedEvent,
  SessionFeature,
  SessionMode,
  SignedIn,
  SignIn,
  StartedBrowserSession,
  StepUpFeature,
  StepUpPrompt,
  Storage,
} from './portal/index.js'
export { ${reexported.join(', ')} } from './portal/index.js'
export type * from './portal/index.js'
export type * from './methods.js'

/** Creates the client of the ${portal} portal. It calls the operations that this module exports. */
export declare function createClient<M extends SessionMode>(options: PortalClientOptions<M>): PortalClient<'${portal}', M>
/** A session in a cookie, which no script can read. Default storage: localStorage, for the client hash and the account. */
export declare function cookieSession(options?: { storage?: Storage }): SessionFeature<'cookie'>
/**
 * A session of tokens that the client holds. Default storage: memory. \`dpop\` binds it to a key that no script can read (RFC
 * 9449).
 */
export declare function tokenSession(options?: { storage?: Storage; dpop?: boolean }): SessionFeature<'tokens'>
/** Signs in. Stores the tokens, which the client renews, or has the gateway set the cookie. */
export declare function signIn<M extends SessionMode>(
  client: PortalClient<'${portal}', M>,
  input: SignIn,
): Promise<M extends 'cookie' ? StartedBrowserSession : SignedIn>
/**
 * Yields the events of ${portal === 'CONSUMER' ? 'a workspace' : 'all workspaces'}: in order, at least once. Reconnects, and renews tokens. Rejects at the end of the
 * session, and with EVENT.CURSOR_EXPIRED if \`after\` is no longer stored: see \`oldestCursor\` of the error. A \`break\` and
 * \`signal\` close the connection.
 */
export declare function followEvents<
  M extends SessionMode,
  const Type extends PorticoEvent['type'] = PorticoEvent['type'],
>(
  client: PortalClient<'${portal}', M>,
  options?: EventsOptions<Type>,
): AsyncGenerator<ReceivedEvent<Type>, void, undefined>
/** Encrypts the calls that \`seal\` selects. */
export declare function secureChannel(): ChannelFeature
/** Asks for a code if a call needs a step-up, and repeats the call with the same request id. */
export declare function stepUpByCode(prompt: StepUpPrompt): StepUpFeature
/** Uses passkeys for sign-ins and step-ups. \`webAuthn()\` of \`portico-client/passkeys\` has those of the browser. */
export declare function passkeys(feature: PasskeyFeature): Passkeys

${operations.join('\n')}`
}
