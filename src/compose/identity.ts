import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { DomainServices } from '../api/ports.ts'
import {
  additionalPortals,
  type Configuration,
  ConfigurationError,
  type LimitRule,
  limitsOf,
  type PortalConfiguration,
  settingsOfPortal,
} from '../config/index.ts'
import { takesTicket } from '../contract/policies.ts'
import { type Database, inTransaction } from '../database/index.ts'
import { type AdditionalPortal, createRouter, offerCheck } from '../gateway/index.ts'
import {
  createIdentity,
  emailOfAccount,
  fixedSettings,
  type Identity,
  type IdentityHooks,
  type IdentitySettings,
  type Lease,
  maskEmail,
  type ProviderSettings,
  type PurposeDetails,
  type PurposePorts,
  providerPaths,
} from '../identity/index.ts'
import {
  type AccountId,
  chains,
  isAcceptedMailbox,
  isInDomains,
  type MaybePromise,
  money,
  mountChain,
  type Operation,
  type OrderId,
  type Portal,
  portalOfChain,
  type RateGroup,
  Refusal,
  rateLimited,
  thenSync,
  type WorkspaceId,
} from '../kernel/index.ts'
import type { Ledger, Order } from '../ledger/index.ts'
import { type BreachCheck, createBreachCheck, noBreachCheck } from '../platform/breached-passwords.ts'
import { createTurnstile, noCaptcha } from '../platform/captcha.ts'
import { isCountry } from '../platform/countries.ts'
import type { DependencyLog } from '../platform/dependency-log.ts'
import { type Limits, scaledLimit } from '../platform/limits/index.ts'
import type { Infrastructure } from './infrastructure.ts'

/** An account can belong to a portal that the configuration no longer has. */
export function signInUrlOf(settings: Pick<Configuration, 'publicUrl' | 'portals'>, portal: Portal): string {
  return Object.hasOwn(settings.portals, portal) ? linksOf(settings, portal).signIn : settings.publicUrl
}

export function identitySettings(settings: Configuration): IdentitySettings {
  const { portals, passwords, login } = settings
  const portal = (each: Portal) => ({
    ...pickIdentity(settingsOfPortal(portals, each)),
    links: linksOf(settings, each),
    codeSends: accountRule(settings, each, 'mfaSend'),
    forgot: accountRule(settings, each, 'forgot'),
    registrationMails: accountRule(settings, each, 'registration'),
    providers: providerSettings(settings, each),
  })
  return {
    tokens: { ...fixedSettings.tokens, ...settings.tokens, assertionTtlMs: settings.assertion.ttlMs },
    sessions: { ...fixedSettings.sessions, ...settings.sessions, lease: leaseOf(settings) },
    secureChannel: { ...fixedSettings.secureChannel, ...settings.secureChannel },
    portals: {
      CONSUMER: portal('CONSUMER'),
      SYSTEM: portal('SYSTEM'),
      ...Object.fromEntries(additionalPortals(portals).map(([name]) => [name, portal(name)])),
    },
    mfa: settings.mfa,
    notices: settings.notices,
    carrierDomains: settings.mail.carrierDomains,
    passwords,
    suspicionMs: passwords.suspicionWindowMs,
    login: { ...login, failures: scaled(settings, () => login.failures) },
  }
}

/** Only one process can use the embedded store, so nothing else changes it. */
export function leaseOf({ databaseUrl, access }: Pick<Configuration, 'databaseUrl' | 'access'>): Lease {
  return databaseUrl === null ? { ms: 10_000, shared: false } : { ms: access.leaseMs, shared: true }
}

/** For people of workspaces. A portal that the configuration does not have refuses everybody. */
export function isRefusedEmail(
  { mail, portals }: Pick<Configuration, 'mail' | 'portals'>,
  email: string,
  portal: Portal,
): boolean {
  const refused = portals[portal]?.refusedDomains
  return !refused || !isAcceptedMailbox(email, mail.carrierDomains) || isInDomains(email, refused)
}

export function breachCheckOf({ passwords }: Configuration, dependencies: DependencyLog): BreachCheck {
  return passwords.breachCheck.url
    ? createBreachCheck({ url: passwords.breachCheck.url.reveal() }, dependencies)
    : noBreachCheck
}

interface PurposeSources {
  ledger: Ledger
  service<Name extends keyof DomainServices>(name: Name): DomainServices[Name] | undefined
  requireService<Name extends keyof DomainServices>(name: Name): DomainServices[Name]
}

/** Calls `domains` only after they are built. */
export function purposePorts(
  operations: readonly Operation[],
  database: Database,
  chainsOf: IdentityHooks['chainsOf'],
  domains: () => PurposeSources,
): PurposePorts {
  const byId = new Map(operations.map((operation) => [operation.id, operation]))
  const isMember = (account: AccountId, workspace: WorkspaceId): Promise<boolean> =>
    inTransaction(database, async (tx) =>
      Boolean(await domains().requireService('members').memberships.find(tx, account, workspace)),
    )
  const ports: PurposePorts = {
    findOperation: (id, portal) => {
      const operation = byId.get(id)
      return operation && chainsOf(operation, portal).length > 0 ? operation : undefined
    },
    enter: (caller, workspace, { withoutEntry }) => {
      const members = domains().requireService('members')
      return withoutEntry && workspace !== null ? members.identify(caller, workspace) : members.enter(caller, workspace)
    },
    memberEmail: async (workspace, account) => {
      if (workspace !== null && !(await isMember(account, workspace))) return undefined
      return emailFor(await emailOfAccount(database, account), workspace)
    },
    roleName: (workspace, role) =>
      inTransaction(database, (tx) => domains().requireService('members').memberships.roleName(tx, workspace, role)),
    readWallet: (wallet) => domains().ledger.readWallet({ wallet, workspace: null }),
    readOrder: (id) => readPurposeOfOrder(domains().ledger, id, ports),
    maskedAccountOf: async (workspace, channel) =>
      domains().service('withdrawalChannels')?.maskedAccountOf(workspace, channel),
  }
  return ports
}

export function composeIdentity(
  settings: Configuration,
  infrastructure: Infrastructure,
  hooks: IdentityHooks,
): Promise<Identity> {
  const { secret, verifyUrl } = settings.turnstile
  const ports = {
    ...infrastructure,
    ...hooks,
    isCountry,
    countOpening: openingCounter(settings, infrastructure.limits),
    captcha: secret ? createTurnstile({ secret: secret.reveal(), verifyUrl }, infrastructure.dependencies) : noCaptcha,
    breachedPasswords: breachCheckOf(settings, infrastructure.dependencies),
  }
  return createIdentity(ports, identitySettings(settings))
}

/** Returns the chains on which a portal has an operation: none if the portal does not offer it. */
export function portalChains(additional: readonly AdditionalPortal[]): IdentityHooks['chainsOf'] {
  return (operation, portal) => {
    const mount = additional.find((each) => each.portal === portal)
    if (mount?.offers(operation) === false) return []
    const all = operation.chains.map((id) => mountChain(chains[id], mount ?? null))
    return all.filter((chain) => (portalOfChain(chain) ?? portal) === portal)
  }
}

/** Returns the operations whose requests can have a ticket, by path. */
export function ticketOperations(
  operations: readonly Operation[],
  additional: readonly AdditionalPortal[],
): IdentityHooks['findTicketOperation'] {
  const route = createRouter(operations, [], additional)
  const assertOffered = offerCheck(additional)
  return (portal, path) => {
    try {
      const { operation, chain } = route('GET', path)
      assertOffered(portal, { operation, chain })
      const isOfPortal = (portalOfChain(chain) ?? portal) === portal
      return isOfPortal && takesTicket(operation, chain) ? operation : undefined
    } catch (error) {
      if (error instanceof Refusal) return undefined
      throw error
    }
  }
}

/** Links never use the Host header of a request, which a client can choose. */
function linksOf(
  { publicUrl, portals }: Pick<Configuration, 'publicUrl' | 'portals'>,
  portal: Portal,
): PortalConfiguration['links'] {
  const whole = (page: string) => wholeUrl(publicUrl, page)
  const { signIn, passwordReset, factorUndo, providerCallback } = settingsOfPortal(portals, portal).links
  return {
    ...(providerCallback !== undefined && { providerCallback: whole(providerCallback) }),
    ...{ signIn: whole(signIn), passwordReset: whole(passwordReset), factorUndo: whole(factorUndo) },
  }
}

/** Reads the files with private keys. `config check` reports unreadable ones. */
function providerSettings({ publicUrl, portals }: Configuration, portal: Portal): ProviderSettings[] {
  const { identityProviders = [], links } = settingsOfPortal(portals, portal)
  return identityProviders.map(
    ({ clientSecret, privateKeyFile, keyId = null, groups, stepUp, returnTo, ...provider }) => {
      const pages = [...(links.providerCallback === undefined ? [] : [links.providerCallback]), ...returnTo]
      const key = privateKeyFile === undefined ? null : createPrivateKey(readFileSync(privateKeyFile))
      return {
        ...provider,
        portal,
        clientSecret: clientSecret?.reveal() ?? null,
        privateKey: key && { key, keyId },
        stepUp: stepUp ?? null,
        groups: groups ? new Map(Object.entries(groups)) : null,
        redirectUri: wholeUrl(publicUrl, providerPaths(portal, provider.id).callback),
        pages: pages.map((page) => wholeUrl(publicUrl, page)),
      }
    },
  )
}

function pickIdentity({ selfRegistration, refusedDomains, mfa, passkeys }: PortalConfiguration) {
  return { selfRegistration, refusedDomains, mfa, passkeys }
}

function wholeUrl(publicUrl: string, page: string): string {
  return page.startsWith('/') ? publicUrl.replace(/\/$/, '') + page : page
}

function accountRule(settings: Configuration, portal: Portal, group: RateGroup): LimitRule {
  return scaled(settings, () => {
    const { groups } = limitsOf(settings, portal)
    // A group without an account rule uses that of `general`.
    const rule = groups.get(group)?.account ?? groups.get('general')?.account
    if (!rule) throw new ConfigurationError([`limits.groups.${group}.account: is missing`])
    return rule
  })
}

/** A reload can change the rule and the scale, so each use reads them. */
function scaled<Rule extends LimitRule>(settings: Configuration, read: () => Rule): Rule {
  return {
    ...read(),
    get limit() {
      return scaledLimit(read().limit, settings.limits.scale)
    },
    get windowMs() {
      return read().windowMs
    },
  }
}

/** An operator's mail names only part of the address, because the operator may not be allowed to read accounts. */
function emailFor(email: string | undefined, workspace: WorkspaceId | null): string | undefined {
  return email !== undefined && workspace === null ? maskEmail(email) : email
}

/** Orders of extensions may have neither an amount nor a payee. */
async function readPurposeOfOrder(
  ledger: Ledger,
  id: OrderId,
  purposes: PurposePorts,
): Promise<PurposeDetails | undefined> {
  const type = await ledger.readOrderType(id)
  if (!type) return undefined
  const order = await ledger.readOrder({ id, type, workspace: null })
  const { amount, currency } = order.data
  const isMoney = amount && currency && /^\d+$/.test(amount)
  return { amount: isMoney ? money(BigInt(amount), currency) : undefined, payee: await payeeOf(order, purposes) }
}

async function payeeOf(order: Order, purposes: PurposePorts): Promise<string | undefined> {
  const { withdrawalChannelBizId: channel } = order.data
  if (channel) return purposes.maskedAccountOf(order.workspaceBizId, channel)
  return order.targetWalletBizId ?? undefined
}

/** The gateway counts the other limits of `channelOpen`, before the payload is read. */
function openingCounter(settings: Configuration, limits: Limits) {
  return (portal: Portal): MaybePromise<void> => {
    const rule = limitsOf(settings, portal).groups.get('channelOpen')?.total
    if (!rule) return
    const name = 'channelOpen-total'
    return thenSync(limits.spend(name, portal, rule), ({ allowed, limit, resetMs }) => {
      if (!allowed) throw rateLimited(resetMs, `limit ${name}`, { name, limit, windowMs: rule.windowMs })
    })
  }
}
