import { type Configuration, hasAppCode, type Portals, portalNames, settingsOfPortal } from '../../config/index.ts'
import { hasWorkspaces, type Portal } from '../../kernel/index.ts'

/** The folder in dist/apps of a portal's application, and the first segment of the paths below which it is served. */
export function appFolderOf(portal: Portal): string {
  return hasWorkspaces(portal) ? 'portal' : 'console'
}

/** The URL of each application that the gateway serves. */
export function appUrls({ publicUrl, portals }: Pick<Configuration, 'publicUrl' | 'portals'>): Map<Portal, string> {
  const served = portalNames(portals).filter((portal) => hasAppCode(settingsOfPortal(portals, portal)))
  return new Map(
    served.map((portal) => {
      const url = new URL(`/${appFolderOf(portal)}`, publicUrl)
      const [host] = settingsOfPortal(portals, portal).hosts
      if (host !== undefined) url.hostname = host
      return [portal, url.href]
    }),
  )
}

export function appNameOf(portals: Portals, portal: Portal): string {
  if (!hasWorkspaces(portal)) return 'Operator console'
  return portal === 'CONSUMER' ? 'Consumer portal' : (settingsOfPortal(portals, portal).name ?? portal)
}
