import { urn } from '../../../contract/scim/schemas.ts'
import { chains, freezeReply } from '../../../kernel/index.ts'
import { maxResults } from '../rules.ts'

/* The descriptions of the supported part of SCIM for programs (RFC 7643, 5 to 7). */

const base = `${chains.systemApi.prefix}/scim/v2`

export const serviceProviderConfig = freezeReply({
  schemas: [urn.config],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API key of operators',
      description: 'Send the API key as a bearer token (RFC 6750).',
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
})

export const resourceTypes = [
  resourceType('User', urn.user, 'A person of the identity provider'),
  resourceType('Group', urn.group, 'A group, which can give roles'),
]

export const schemas = [
  schema(urn.user, 'User', [
    attribute('userName', { required: true, uniqueness: 'server' }),
    attribute('externalId', { caseExact: true, uniqueness: 'server' }),
    complex('name', ['formatted', 'givenName', 'familyName']),
    attribute('displayName'),
    { ...complex('emails', ['value', 'type', 'primary']), multiValued: true },
    { ...attribute('active'), type: 'boolean' },
  ]),
  schema(urn.group, 'Group', [
    attribute('displayName', { required: true, uniqueness: 'server' }),
    attribute('externalId', { caseExact: true, uniqueness: 'server' }),
    { ...complex('members', ['value', 'display', 'type']), multiValued: true },
  ]),
]

function resourceType(name: string, schemaId: string, description: string) {
  return {
    schemas: [urn.resourceType],
    id: name,
    name,
    description,
    endpoint: `/${name}s`,
    schema: schemaId,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }
}

function schema(id: string, name: string, attributes: readonly object[]) {
  return {
    schemas: [urn.schema],
    id,
    name,
    attributes,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  }
}

function attribute(name: string, { required = false, caseExact = false, uniqueness = 'none' } = {}) {
  const common = { multiValued: false, mutability: 'readWrite', returned: 'default' }
  return { name, type: name === 'primary' ? 'boolean' : 'string', ...common, required, caseExact, uniqueness }
}

function complex(name: string, members: readonly string[]) {
  return { ...attribute(name), type: 'complex', subAttributes: members.map((member) => attribute(member)) }
}
