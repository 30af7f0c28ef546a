import type { KeyObject } from 'node:crypto'
import type { ProviderConfiguration } from '../../config/index.ts'
import type { Portal } from '../../kernel/index.ts'

/** A provider as identity uses it. */
export interface ProviderSettings
  extends Pick<
    ProviderConfiguration,
    'id' | 'name' | 'issuer' | 'clientId' | 'scopes' | 'claims' | 'provisioning' | 'trustsMfa' | 'passwordSignIn'
  > {
  portal: Portal
  clientSecret: string | null
  privateKey: { key: KeyObject; keyId: string | null } | null
  stepUp: ProviderConfiguration['stepUp'] | null
  /** Roles of operators by group. Null if groups decide over no permission. */
  groups: ReadonlyMap<string, readonly string[]> | null
  /** Where the provider sends the browser: the gateway, which leads to a page. */
  redirectUri: string
  /** The pages to which a sign-in can return. The first one is the default. */
  pages: readonly string[]
}

/** Paths of the gateway for a provider, below the root. */
export function providerPaths(portal: Portal, id: string): { callback: string; logout: string } {
  const base = `/identity-providers/${portal.toLowerCase()}/${id}`
  return { callback: `${base}/callback`, logout: `${base}/logout` }
}
