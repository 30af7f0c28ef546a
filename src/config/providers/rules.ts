import { hasWorkspaces } from '../../kernel/index.ts'
import type { PortalConfiguration } from '../portals/settings.ts'
import type { ProviderConfiguration } from './settings.ts'

type Portals = Readonly<Record<string, Pick<PortalConfiguration, 'identityProviders' | 'links'>>>

export function providerErrors({
  portals,
  domains,
}: {
  portals: Portals
  domains: Readonly<Record<string, unknown>>
}): string[] {
  return Object.entries(portals).flatMap(([portal, { identityProviders = [], links }]) => {
    const path = `portals.${portal}.identityProviders`
    return [
      ...(identityProviders.length > 0 && links.providerCallback === undefined
        ? [`portals.${portal}.links.providerCallback: must be set, because ${path} is not empty`]
        : []),
      ...identityProviders.flatMap((provider, index) => [
        ...duplicateErrors(`${path}.${index}`, provider, identityProviders.slice(0, index)),
        ...errorsOf(`${path}.${index}`, provider),
        ...(hasWorkspaces(portal) && provider.groups !== undefined
          ? [`${path}.${index}.groups: only operators have roles; remove it`]
          : []),
        // They propose new permissions.
        ...(provider.groups !== undefined && [domains.proposals, domains.banking].includes('off')
          ? [`${path}.${index}.groups: needs the domain proposals, which is off`]
          : []),
      ]),
    ]
  })
}

/** With a shared issuer, an account of one provider would be an account of the other. */
function duplicateErrors(
  path: string,
  { id, issuer }: ProviderConfiguration,
  earlier: readonly ProviderConfiguration[],
): string[] {
  return [
    ...(earlier.some((one) => one.id === id) ? [`${path}.id: must differ from that of another provider`] : []),
    ...(earlier.some((one) => one.issuer === issuer)
      ? [`${path}.issuer: must differ from that of another provider`]
      : []),
  ]
}

function errorsOf(path: string, { clientSecret, privateKeyFile, keyId, provisioning, claims }: ProviderConfiguration) {
  return [
    ...((clientSecret === undefined) === (privateKeyFile === undefined)
      ? [`${path}: needs either clientSecret or privateKeyFile`]
      : []),
    ...(keyId !== undefined && privateKeyFile === undefined ? [`${path}.keyId: needs privateKeyFile`] : []),
    ...(provisioning !== 'none' && claims.email === claims.externalId
      ? [`${path}.claims.externalId: must not be the email address, which people can change`]
      : []),
  ]
}
