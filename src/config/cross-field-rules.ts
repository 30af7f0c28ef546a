import { codedFamilies } from '../contract/index.ts'
import { isRecord } from '../kernel/index.ts'
import { backendServices } from './backends.ts'
import { additionalPortalErrors, portalNames, workspacePortals } from './portals/additional.ts'
import { hasAppCode } from './portals/settings.ts'
import { providerErrors } from './providers/rules.ts'
import type { Settings } from './schema.ts'
import { isHttps } from './values.ts'

export function crossFieldErrors(settings: Settings): string[] {
  const { database, listen, portals, requests } = settings
  const { headersTimeoutMs, uploadTimeoutMs } = requests
  return [
    database.statementTimeoutMs === 0 ||
      database.lockTimeoutMs < database.statementTimeoutMs ||
      'database.lockTimeoutMs: must be less than database.statementTimeoutMs',
    listen.port !== listen.operationsPort || listen.port === 0 || 'listen.operationsPort: must differ from listen.port',
    headersTimeoutMs <= uploadTimeoutMs ||
      'requests.headersTimeoutMs: must not be greater than requests.uploadTimeoutMs',
    // A new account has no other factor with which it could add an authenticator.
    ...workspacePortals(portals).map(
      ([name, { selfRegistration, mfa }]) =>
        selfRegistration === 'closed' ||
        mfa.mailCodes !== 'never' ||
        `portals.${name}.mfa.mailCodes: never needs portals.${name}.selfRegistration: closed`,
    ),
    typeof settings.audit.export.to === 'string' ||
      settings.audit.export.secret !== null ||
      'audit.export.secret: must be set, because audit.export.to is a URL',
    settings.reference.portal === null ||
      Object.hasOwn(portals, settings.reference.portal) ||
      `reference.portal: must be null or one of ${portalNames(portals).join(', ')}`,
    ...additionalPortalErrors(portals),
    ...hostErrors(settings),
    ...appErrors(settings),
    ...captchaErrors(settings),
    ...providerErrors(settings),
    ...passkeyErrors(settings),
    ...tlsErrors(settings),
    ...audienceErrors(settings),
    ...trialErrors(settings),
    ...codedValueErrors(settings),
  ].filter((error) => error !== true)
}

/** Settings of a service next to `url: in-process`. Their defaults hide them after parsing. */
export function inProcessErrors(tree: unknown): string[] {
  const backends = isRecord(tree) && isRecord(tree.backends) ? tree.backends : {}
  return Object.entries(backends).flatMap(([name, entry]) => {
    if (!isRecord(entry) || entry.url !== 'in-process') return []
    const known = ['url', 'shadow', 'canary']
    const others = Object.keys(entry).filter((key) => !known.includes(key))
    return [
      ...others.map((key) => `backends.${name}.${key}: applies only to a service; remove it, or set url to a service`),
      ...(entry.shadow === undefined && entry.canary === undefined
        ? [`backends.${name}: must be in-process, because it has neither shadow nor canary`]
        : []),
    ]
  })
}

function passkeyErrors({ portals }: Settings): string[] {
  return Object.entries(portals).flatMap(([name, { mfa, passkeys }]) => {
    const errors: string[] = []
    if (mfa.required.passkey !== 'none' && !passkeys)
      errors.push(`portals.${name}.mfa.required.passkey: needs portals.${name}.passkeys`)
    // Browsers look for related origins on the host of the relying party.
    if (passkeys && !passkeys.origins.some((origin) => isBelow(new URL(origin).hostname, passkeys.rpId)))
      errors.push(`portals.${name}.passkeys.origins: must contain an origin of ${passkeys.rpId} or of a subdomain`)
    return errors
  })
}

function isBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}

/** The development profile has the codes of development, which a file may replace: then it serves no application. */
function appErrors({ profile, portals }: Settings): string[] {
  return Object.entries(portals).flatMap(([name, portal]) =>
    profile === 'production' && portal.app && !hasAppCode(portal)
      ? [`portals.${name}.app.accessCode: must be the plain text of one of portals.${name}.accessCodes`]
      : [],
  )
}

/** Without the widget, the application could not register anybody or request a password reset. */
function captchaErrors({ portals, turnstile }: Settings): string[] {
  const served = Object.entries(portals).find(([, portal]) => hasAppCode(portal))
  if (turnstile.secret === null || turnstile.siteKey !== null || !served) return []
  return [`turnstile.siteKey: must be set, because turnstile.secret is set and portals.${served[0]}.app is served`]
}

/** Otherwise, a request could belong to two sites. */
function hostErrors({ portals }: Settings): string[] {
  const all = portalNames(portals).flatMap((name) => (portals[name] ? [{ name, ...portals[name] }] : []))
  const served = all.filter(({ site }) => site !== undefined)
  return all.flatMap(({ name, hosts, site }, index) => [
    ...all
      .slice(0, index)
      .flatMap((other) =>
        hosts
          .filter((host) => other.hosts.includes(host))
          .map((host) => `portals.${name}.hosts: ${host} is also in portals.${other.name}.hosts; remove one of them`),
      ),
    ...(new Set(hosts).size < hosts.length ? [`portals.${name}.hosts: contains a name twice`] : []),
    ...(served.length > 1 && site !== undefined && hosts.length === 0
      ? [
          `portals.${name}.hosts: must list a host name, because ${served.length === 2 ? 'both' : 'several'} portals have a site`,
        ]
      : []),
  ])
}

function tlsErrors(settings: Settings): string[] {
  return upstreamsOf(settings).flatMap(({ path, url, tls }) => {
    if (!tls) return []
    const { certFile, keyFile } = tls
    return [
      ...(isHttps(url) ? [] : [`${path}.tls: needs a url that begins with https://`]),
      ...((certFile === undefined) === (keyFile === undefined)
        ? []
        : [`${path}.tls: certFile and keyFile must be set together`]),
    ]
  })
}

function upstreamsOf({ backends, passThrough }: Settings) {
  return [
    ...backendServices({ backends }),
    ...passThrough.map((place, index) => ({ path: `passThrough.${index}`, ...place })),
  ]
}

/** A service is not tried against itself. */
function trialErrors({ backends }: Settings): string[] {
  return Object.entries(backends).flatMap(([name, entry]) => {
    if (entry === undefined || entry === 'in-process') return []
    const { url, shadow, canary } = entry
    const path = `backends.${name}`
    const same = Object.entries({ shadow, canary }).filter(
      ([, trial]) => trial && placeKey(trial.url) === placeKey(url),
    )
    return [
      ...same.map(([kind]) => `${path}.${kind}.url: must differ from ${path}.url`),
      ...(canary?.sticky === 'account' && canary.workspaces.length > 0
        ? [`${path}.canary.workspaces: needs ${path}.canary.sticky: workspace`]
        : []),
    ]
  })
}

/** With a shared audience, one upstream could replay its call assertions at the other. */
function audienceErrors(settings: Settings): string[] {
  const upstreams = upstreamsOf(settings)
  return upstreams.flatMap(({ path, url, audience }, index) => {
    const other = upstreams.slice(0, index).find((one) => one.audience === audience && one.url !== url)
    return other ? [`${path}.audience: must differ from that of ${other.path}, which has another url`] : []
  })
}

function placeKey(url: string): string {
  return URL.parse(url)?.href.replace(/\/$/, '') ?? url
}

function codedValueErrors({ codedValues }: Settings): string[] {
  return Object.entries(codedValues)
    .map(([family, own]) => errorOf(family, own))
    .filter((error) => error !== undefined)
    .map((error) => `codedValues: ${error}`)
}

function errorOf(family: string, own: Readonly<Record<string, number>>): string | undefined {
  const numbers = codedFamilies.get(family)?.values
  if (!numbers) return `unknown family ${family}; docs/reference/numbers.md lists them`
  const unknown = Object.keys(own).find((code) => !Object.hasOwn(numbers, code))
  if (unknown !== undefined) return `unknown code ${unknown} in ${family}; docs/reference/numbers.md lists them`
  const all = Object.values({ ...numbers, ...own })
  return new Set(all).size < all.length ? `two codes of ${family} have the same number; change one` : undefined
}
