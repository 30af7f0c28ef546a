/*
 * The front ends of the portals: built files, or the development server of a bundler (docs/decisions/0087). Start with
 * `openSites`. `read-site.ts` reads the files, `page-scan.ts` and `content-policy.ts` build their content security
 * policies, `send-file.ts` responds. Depends on the configuration and on http/.
 */
import type { Request, RequestHandler, Response } from 'express'
import {
  additionalPortals,
  type Configuration,
  ConfigurationError,
  hasAppCode,
  inPackage,
  type Portals,
  portalNames,
  settingsOfPortal,
} from '../../config/index.ts'
import { hasWorkspaces, messageOf, type Portal } from '../../kernel/index.ts'
import { closeIfBodyUnread } from '../http/connection.ts'
import { buildSecurityHeaders } from '../http/security-headers.ts'
import type { UpgradeHandler } from '../http/server.ts'
import { createHostCheck } from '../operations/allowed-hosts.ts'
import { hostNameOf, hostOrigins, hostsOfOthers } from '../pipeline/origins.ts'
import { isHandshake } from '../sockets/handshake.ts'
import { appFolderOf } from './apps.ts'
import type { PagePolicy } from './content-policy.ts'
import { createDevelopmentServer, type DevelopmentServer } from './development-server.ts'
import { readSite, type SiteFile, type SiteFiles } from './read-site.ts'
import { sendFile } from './send-file.ts'

interface Site {
  portal: Portal
  /** The first segment of the paths of an application. Null for a site, which has all other paths. */
  folder: string | null
  /** Of the header `Host`. */
  hasHost(header: string | undefined): boolean
  content: { files: SiteFiles } | { server: DevelopmentServer }
}

export interface Sites {
  isEmpty: boolean
  /** Undefined if no site has the host of the request. An application precedes a site. */
  find(request: Pick<Request, 'headers'>, segments: readonly string[]): Site | undefined
  /** Closes relayed WebSockets, and accepts no more. */
  close(): void
  isClosed(): boolean
}

export interface BlockedParts {
  portal: Portal
  page: string
  blocked: readonly string[]
}

/** The origin of the CAPTCHA: developers.cloudflare.com/turnstile/reference/content-security-policy. */
const captchaOrigin = 'https://challenges.cloudflare.com'

/** In the pages of the applications. */
const settingsMark = '%SETTINGS%'

/** Operations are below these. */
const chainFolders: ReadonlySet<string> = new Set(['web', 'api'])

/** Reads the files of all sites. Throws a ConfigurationError that names the setting. */
export function openSites(
  settings: Pick<Configuration, 'profile' | 'publicUrl' | 'portals' | 'listen' | 'turnstile'>,
  onBlocked: (parts: BlockedParts) => void,
): Sites {
  const errors: string[] = []
  const open = (portal: Portal): Site[] => {
    const { site, hosts } = settingsOfPortal(settings.portals, portal)
    if (site === undefined) return []
    const setting = `portals.${portal}.site.${'url' in site ? 'url' : 'directory'}`
    try {
      const content =
        'url' in site
          ? { server: createDevelopmentServer(site.url, setting) }
          : {
              files: readSite(site.directory, site.csp ?? {}, socketOrigins(settings, portal), {
                onBlocked: (page, blocked) => onBlocked({ portal, page, blocked }),
              }),
            }
      return [{ portal, folder: null, hasHost: hostCheckOf(settings, hosts, 'server' in content), content }]
    } catch (error) {
      errors.push(`${setting}: ${messageOf(error)}`)
      return []
    }
  }
  const openApp = (portal: Portal): Site[] => {
    const own = settingsOfPortal(settings.portals, portal)
    const { app, passkeys, selfRegistration, prefix } = own
    if (app === null || !hasAppCode(own)) return []
    const folder = appFolderOf(portal)
    const captchaKey = settings.turnstile.secret === null ? null : settings.turnstile.siteKey
    const page = {
      accessCode: app.accessCode,
      edgeHeaders: settings.profile === 'development',
      passkeys: passkeys !== undefined,
      selfRegistration: hasWorkspaces(portal) && selfRegistration !== 'closed',
      captchaKey,
      mount: prefix === undefined ? null : { portal, prefix },
      portals: hasWorkspaces(portal) ? [] : labelsOf(settings.portals),
    }
    try {
      const policy = appPolicy(portal, captchaKey !== null)
      const files = readSite(inPackage(`dist/apps/${folder}`), policy, socketOrigins(settings, portal), {
        onBlocked: (page, blocked) => onBlocked({ portal, page, blocked }),
        adjustPage: (html) => html.replace(settingsMark, () => escapeAttribute(JSON.stringify(page))),
      })
      return [{ portal, folder, hasHost: appHostCheckOf(settings, portal), content: { files } }]
    } catch (error) {
      const advice = 'build the applications with `npm run build:apps`, or set it to off'
      errors.push(`portals.${portal}.app: ${advice} (${messageOf(error)})`)
      return []
    }
  }
  const portals = portalNames(settings.portals)
  const sites = [...portals.flatMap(openApp), ...portals.flatMap(open)]
  if (errors.length > 0) throw new ConfigurationError(errors)
  let isClosed = false
  return {
    isEmpty: sites.every(({ folder }) => folder !== null),
    find: ({ headers }, segments) =>
      sites.find(({ folder, hasHost }) => (folder === null || folder === segments[0]) && hasHost(headers.host)),
    close: () => {
      isClosed = true
      for (const { content } of sites) if ('server' in content) content.server.close()
    },
    isClosed: () => isClosed,
  }
}

/** `admit` returns false if it has refused the request. */
export function createSiteHandler(
  sites: Sites,
  admit: (request: Request, response: Response, portal: Portal) => Promise<boolean>,
): RequestHandler {
  const securityHeaders = buildSecurityHeaders()
  const serve = async (request: Request, response: Response): Promise<boolean> => {
    const segments = readSegments(request.url)
    const site = segments && sites.find(request, segments)
    if (!site || (request.method !== 'GET' && request.method !== 'HEAD')) return false
    const { portal, folder, content } = site
    const below = folder === null ? segments : segments.slice(1)
    const found = 'files' in content ? findFile(content.files, below, request) : undefined
    if ('files' in content && !found) return false
    if (!(await admit(request, response, portal))) return true
    if ('server' in content) content.server.relay(request, response)
    else if (found) {
      closeIfBodyUnread(request, response)
      sendFile(found.file, found.path, securityHeaders, request, response)
    }
    return true
  }
  return (request, response, next) => {
    serve(request, response).then((isServed) => (isServed ? undefined : next()), next)
  }
}

/** Relays WebSockets that are not operations to a development server. */
export function withSiteSockets(operations: UpgradeHandler, sites: Sites): UpgradeHandler {
  const serverOf = (request: Parameters<UpgradeHandler['accepts']>[0]): DevelopmentServer | undefined => {
    const segments = readSegments(request.url ?? '')
    if (sites.isClosed() || !isHandshake(request) || !segments) return undefined
    const content = sites.find(request, segments)?.content
    return content && 'server' in content ? content.server : undefined
  }
  return {
    accepts: (request) => operations.accepts(request) || serverOf(request) !== undefined,
    handle: (request, socket, head) => {
      if (operations.accepts(request)) operations.handle(request, socket, head)
      else serverOf(request)?.relaySocket(request, socket, head)
    },
  }
}

/**
 * The applications only have files. The console shows documents that it has downloaded in a frame. The policy `default`
 * of apps/kit/captcha/turnstile.ts creates the script of the CAPTCHA.
 */
function appPolicy(portal: Portal, hasCaptcha: boolean): PagePolicy {
  const captcha = hasCaptcha ? [captchaOrigin] : []
  return {
    trustedTypes: true,
    trustedTypePolicies: hasCaptcha ? ['default'] : [],
    script: captcha,
    frame: hasWorkspaces(portal) ? captcha : ['blob:', ...captcha],
  }
}

/**
 * Development servers check the host against DNS rebinding, and get that of their own URL. So the gateway checks the host
 * for them.
 */
function hostCheckOf(
  { listen, publicUrl }: Pick<Configuration, 'publicUrl' | 'listen'>,
  hosts: readonly string[],
  isDevelopmentServer: boolean,
): Site['hasHost'] {
  if (hosts.length > 0) return (header) => hosts.includes(hostNameOf(header))
  if (!isDevelopmentServer) return () => true
  return createHostCheck([...listen.operationsAllowedHosts, new URL(publicUrl).hostname])
}

/** Without names, an application has all hosts except those of other portals. */
function appHostCheckOf(settings: Pick<Configuration, 'publicUrl' | 'listen' | 'portals'>, portal: Portal) {
  const { hosts } = settingsOfPortal(settings.portals, portal)
  if (hosts.length > 0) return hostCheckOf(settings, hosts, false)
  const others = hostsOfOthers(settings.portals, portal)
  return (header: string | undefined) => !others.includes(hostNameOf(header))
}

/** Some browsers' 'self' does not match WebSockets. */
function socketOrigins(settings: Pick<Configuration, 'publicUrl' | 'portals'>, portal: Portal): string[] {
  return [new URL(settings.publicUrl).origin, ...hostOrigins(settings, portal)].map((origin) =>
    origin.replace(/^http/, 'ws'),
  )
}

/** The decoded path. Null if it belongs to the chains, or if two programs could read it differently. */
function readSegments(url: string): string[] | null {
  const [path = ''] = url.split('?', 1)
  try {
    const segments = path.slice(1).split('/').map(decodeURIComponent)
    const isAmbiguous = !path.startsWith('/') || segments.some((segment) => /[/\\\p{Cc}]|^\.\.?$/u.test(segment))
    return isAmbiguous || chainFolders.has(segments[0]?.toLowerCase() ?? '') ? null : segments
  } catch {
    return null
  }
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}

/** A page of the application, such as `/wallets/5`, is index.html. A missing file is not: it has an extension. */
function findFile(
  files: SiteFiles,
  segments: readonly string[],
  request: Request,
): { file: SiteFile; path: string } | undefined {
  const requested = segments.join('/')
  const path = requested === '' || requested.endsWith('/') ? `${requested}index.html` : requested
  const file = files.get(path)
  if (file) return { file, path }
  const isPage = segments.every(
    (segment, at) => !segment.includes('.') && (segment !== '' || at === segments.length - 1),
  )
  const page = files.get('index.html')
  // Scripts accept any type, so they prefer the first.
  return isPage && page && request.accepts('json', 'html') === 'html' ? { file: page, path: 'index.html' } : undefined
}

/** The applications have texts for CONSUMER and SYSTEM. */
function labelsOf(portals: Portals): { name: Portal; label: string | null }[] {
  const additional = new Map(additionalPortals(portals))
  return portalNames(portals).map((name) => {
    const declared = additional.get(name)
    return { name, label: declared ? (declared.name ?? name) : null }
  })
}
