import type { KeyObject } from 'node:crypto'
import * as oidc from 'openid-client'
import { type Clock, DependencyFailure, type Instant, minutes } from '../../../kernel/index.ts'
import type { DependencyLog } from '../../../platform/dependency-log.ts'
import { fetchResponse } from '../../../platform/http-client.ts'
import { systemClock } from '../../../platform/runtime/index.ts'
import type { ProviderSettings } from '../settings.ts'

/** After this time, the next sign-in uses the known metadata and refreshes them in the background. */
const freshMs = minutes(10)
const renewalMs = 5_000
const timeoutMs = 5_000
/** Of a response. Metadata and keys take some thousand bytes. */
const maxBytes = 262_144
const toleranceSeconds = 30

export type KeySet = oidc.ExportedJWKSCache['jwks']

interface Known {
  metadata: oidc.ServerMetadata
  keys: KeySet
  fetchedAt: Instant
}

interface DirectoryPorts {
  clock: Clock
  dependencies: DependencyLog
}

/**
 * Metadata and keys of one provider. A sign-in waits only for the first ones: later it uses the known ones, and at most one
 * request at a time refreshes them.
 */
export class ProviderDirectory {
  readonly settings: ProviderSettings
  readonly #ports: DirectoryPorts
  readonly #authentication: oidc.ClientAuth
  #known: Known | null = null
  #pending: Promise<Known> | null = null
  #renewedAt: Instant | null = null

  constructor(ports: DirectoryPorts, settings: ProviderSettings) {
    this.#ports = ports
    this.settings = settings
    this.#authentication = authenticationOf(settings)
  }

  /** For one sign-in: it sees no keys of another one. Rejects if the provider has never been reachable. */
  async client(): Promise<{ client: oidc.Configuration; keep(): void }> {
    const { metadata, keys } = await this.#read()
    const client = this.#configure(structuredClone(metadata))
    // A stale time makes the library fetch the keys again if it lacks the key of a token.
    const uat = epochSeconds(systemClock.now()) - 61
    oidc.setJwksCache(client, { jwks: structuredClone(keys), uat })
    return { client, keep: () => this.#keepKeys(oidc.getJwksCache(client)?.jwks) }
  }

  async metadata(): Promise<oidc.ServerMetadata> {
    return (await this.#read()).metadata
  }

  async keys(): Promise<KeySet> {
    return (await this.#read()).keys
  }

  /** Fetches them again, for a token of an unknown key. Not more often than every few seconds: anybody can send such tokens. */
  async newerKeys(): Promise<KeySet> {
    const now = this.#ports.clock.now()
    if (this.#renewedAt !== null && Math.abs(now - this.#renewedAt) < renewalMs) return this.keys()
    this.#renewedAt = now
    return (await this.#refresh()).keys
  }

  failed(error: unknown): void {
    this.#ports.dependencies.failed(this.#dependency, error)
  }

  works(): void {
    this.#ports.dependencies.works(this.#dependency)
  }

  async #read(): Promise<Known> {
    if (!this.#known) return this.#refresh()
    const isFresh = Math.abs(this.#ports.clock.now() - this.#known.fetchedAt) < freshMs
    // The failure is logged.
    if (!isFresh) this.#refresh().catch(() => undefined)
    return this.#known
  }

  #refresh(): Promise<Known> {
    this.#pending ??= this.#fetch()
      .catch((cause: unknown) => {
        const failure = new DependencyFailure(`no metadata of the identity provider ${this.settings.id}`, { cause })
        this.failed(failure)
        throw failure
      })
      .finally(() => {
        this.#pending = null
      })
    return this.#pending
  }

  /** In the log of dependencies. */
  get #dependency(): string {
    return `identity provider ${this.settings.id}`
  }

  async #fetch(): Promise<Known> {
    const { issuer, clientId } = this.settings
    const found = await oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), {
      algorithm: 'oidc',
      timeout: timeoutMs / 1_000,
      [oidc.customFetch]: fetchOf,
      ...(isPlain(issuer) && { execute: [oidc.allowInsecureRequests] }),
    })
    const metadata = { ...found.serverMetadata() }
    // The library accepts other issuers of some vendors.
    if (metadata.issuer !== issuer) throw new Error('the metadata name another issuer')
    for (const name of endpoints) assertEndpoint(issuer, name, metadata[name])
    const keys = await fetchKeys(metadata.jwks_uri)
    this.works()
    this.#known = { metadata, keys, fetchedAt: this.#ports.clock.now() }
    return this.#known
  }

  #configure(metadata: oidc.ServerMetadata): oidc.Configuration {
    const { clientId, issuer } = this.settings
    // The library reads the clock of the system.
    const clockSkew = Math.round((this.#ports.clock.now() - systemClock.now()) / 1_000)
    const client = new oidc.Configuration(
      metadata,
      clientId,
      { [oidc.clockSkew]: clockSkew, [oidc.clockTolerance]: toleranceSeconds },
      this.#authentication,
    )
    client[oidc.customFetch] = fetchOf
    client.timeout = timeoutMs / 1_000
    oidc.enableNonRepudiationChecks(client)
    if (isPlain(issuer)) oidc.allowInsecureRequests(client)
    return client
  }

  #keepKeys(keys: KeySet | undefined): void {
    if (keys && this.#known) this.#known = { ...this.#known, keys }
  }
}

const endpoints = [
  'authorization_endpoint',
  'token_endpoint',
  'jwks_uri',
  'pushed_authorization_request_endpoint',
  'end_session_endpoint',
] as const

/** Browsers follow some of these URLs, and keys that come in clear text could be those of anybody. */
function assertEndpoint(issuer: string, name: (typeof endpoints)[number], url: string | undefined): void {
  const protocol = url === undefined ? 'https:' : URL.parse(url)?.protocol
  if (protocol !== 'https:' && !(protocol === 'http:' && isPlain(issuer)))
    throw new Error(`the metadata name no https URL as ${name}`)
}

function authenticationOf({ clientSecret, privateKey }: ProviderSettings): oidc.ClientAuth {
  if (privateKey === null) return oidc.ClientSecretBasic(clientSecret ?? '')
  const { key, keyId } = privateKey
  return async (server, client, body, headers) => {
    const imported = await importKey(key, server.token_endpoint_auth_signing_alg_values_supported)
    const authenticate = oidc.PrivateKeyJwt({ key: imported, ...(keyId !== null && { kid: keyId }) })
    await authenticate(server, client, body, headers)
  }
}

/** RSA keys sign RS256, which most providers accept, and PS256 for the others. */
async function importKey(key: KeyObject, accepted: readonly string[] = ['RS256']): Promise<CryptoKey> {
  const rsa = accepted.includes('PS256') && !accepted.includes('RS256') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5'
  const namedCurve = curves.get(key.asymmetricKeyDetails?.namedCurve) ?? 'P-256'
  const type = key.asymmetricKeyType
  const algorithm =
    type === 'rsa'
      ? { name: rsa, hash: 'SHA-256' }
      : type === 'ec'
        ? { name: 'ECDSA', namedCurve }
        : { name: 'Ed25519' }
  const der = new Uint8Array(key.export({ type: 'pkcs8', format: 'der' }))
  return crypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign'])
}

const curves: ReadonlyMap<string | undefined, string> = new Map([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
  ['secp521r1', 'P-521'],
])

const fetchOf: oidc.CustomFetch = (url, { method, headers, body }) => {
  if (body !== undefined && body !== null && typeof body !== 'string' && !(body instanceof URLSearchParams))
    throw new TypeError('a request to a provider has a form')
  return fetchResponse(url, { method, headers, body: body ?? undefined }, { timeoutMs, maxBytes })
}

async function fetchKeys(url: string | undefined): Promise<KeySet> {
  if (url === undefined) throw new Error('the metadata name no jwks_uri')
  const request = { method: 'GET', headers: { accept: 'application/json' }, body: undefined }
  const response = await fetchResponse(url, request, { timeoutMs, maxBytes })
  const body: unknown = response.ok ? await response.json() : undefined
  if (!isKeySet(body)) throw new Error('the keys of the provider are not a JWK set')
  return body
}

function isKeySet(value: unknown): value is KeySet {
  return (
    typeof value === 'object' &&
    value !== null &&
    'keys' in value &&
    Array.isArray(value.keys) &&
    value.keys.every((key: unknown) => typeof key === 'object' && key !== null)
  )
}

function isPlain(issuer: string): boolean {
  return issuer.startsWith('http:')
}

function epochSeconds(ms: number): number {
  return Math.floor(ms / 1_000)
}
