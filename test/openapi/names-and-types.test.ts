import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { AssertionClaims } from '../../src/backends/index.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { catalogueOf } from '../../src/compose/extensions.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'
import { anonymous } from '../../src/contract/policies.ts'
import { readDocument } from '../../src/documents/index.ts'
import { type Operation, operation } from '../../src/kernel/index.ts'
import { openApiDocument, serviceDocument } from '../../src/openapi/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/openapi/json.ts'

const version = '1.0.0'
const maxNameLength = 60

/** Names that Portico's own components or the types of languages have. */
const archive = {
  name: 'archive',
  summary: 'Names that collide.',
  source: 'test',
  isOurs: false,
  create: () => ({ handlers: {} }),
  operations: {
    readWALLET: read('archive.wallet', z.object({ kind: z.enum(['OLD', 'NEWER']), shelf: z.string() })),
    listRecords: read('archive.records', z.array(z.object({ title: z.string() }))),
    readError: read('archive.error', z.object({ reason: z.enum(['TORN', 'LOST']), found: z.literal(false) })),
    readEvent: read('archive.event', z.object({ Kind: z.enum(['FIRE', 'FLOOD']), type: z.enum(['A', 'B']) })),
  },
}

function read(id: string, reply: z.ZodType): Operation {
  const path = `/archive/${id.split('.')[1]}` as const
  return operation({
    ...{ id, path, reply, method: 'GET', chains: ['consumer'], body: 'none', refuses: [], policy: anonymous },
    summary: 'Read from the archive',
  })
}

/** The document of a gateway whose domain comes from an OpenAPI document. */
async function withDocument(source: JsonObject): Promise<JsonObject> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-names-'))
  try {
    const file = join(folder, 'archive.json')
    const { 'x-portico': root, paths, ...rest } = source
    const own = Object.fromEntries(
      Object.entries(isJsonObject(paths) ? paths : {}).filter(([path]) => /archive/.test(path)),
    )
    const domains = { archive: 'Names that collide.' }
    const marks = { ...(isJsonObject(root) && root), domains, codes: {}, permissions: {}, rateGroups: {} }
    writeFileSync(file, JSON.stringify({ ...rest, 'x-portico': marks, paths: own }))
    const found = readDocument(file)
    if ('errors' in found) throw new Error(found.errors.join('\n'))
    return await openApiDocument(catalogueOf([...ours, ...found.domains]), { version })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const ours = bankingDomains.map((each) => ({ ...each, source: 'test', isOurs: true }))
const extended = await openApiDocument(catalogueOf([...ours, archive]), { version })
const service = await serviceDocument(bankingCatalogue, {
  ...{ version, domains: [...bankingCatalogue.routableDomains], issuer: 'portico', audience: 'bank' },
  claims: z.toJSONSchema(AssertionClaims, { io: 'input' }),
  sentence: (code) => code,
})

/** Members whose values are not schemas. */
const skipped = new Set(['x-portico', 'example', 'examples', 'default'])

function objectsIn(value: Json | undefined): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn)
  if (!isJsonObject(value)) return []
  const members = Object.entries(value).filter(([name]) => !skipped.has(name))
  return [value, ...members.flatMap(([, member]) => objectsIn(member))]
}

function keysOf(value: Json | undefined): string[] {
  return isJsonObject(value) ? Object.keys(value) : []
}

/** Generators change the case of names and drop their punctuation. */
function fold(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

function duplicatesIn(names: readonly string[]): string[] {
  const folded = names.map(fold)
  return names.filter((_, place) => folded.indexOf(folded[place] ?? '') !== place)
}

function followIn(document: JsonObject, value: Json): JsonObject {
  const path = isJsonObject(value) && typeof value.$ref === 'string' ? value.$ref.slice(2).split('/') : []
  const found = path.reduce<Json | undefined>((each, name) => (isJsonObject(each) ? each[name] : undefined), document)
  const target = path.length > 0 ? found : value
  return isJsonObject(target) ? target : {}
}

/** Ids in texts that are not UUIDs: secrets, ids that clients choose, names, and targets of several kinds. */
const otherIds = new Set(
  [
    ...[
      'InitiateLoginReply',
      'SendLoginCodeRequest',
      'CompleteLoginRequest',
      'StartBrowserSessionRequest',
      'InitiateRegistrationReply',
    ],
    ...['VerifyRegistrationEmailRequest', 'VerifyRegistrationEmailReply', 'CompleteRegistrationRequest'],
    ...['OpenSecureChannelReply', 'TerminateSessionRequest'],
    ...['InitiateProviderLoginReply', 'CompleteProviderLoginRequest', 'CompleteProviderLoginReply'],
    ...['StartWithProviderRequest', 'StartWithProviderReply', 'LinkProviderRequest', 'StepUpAtProviderRequest'],
  ].map((name) => `${name}.sessionId`),
)
otherIds.add('DeletePasskeyReply.credentialId').add('Passkey.credentialId')
for (const name of ['AllowCredential', 'ExcludeCredential', 'AssertionCredential', 'RegistrationCredential'])
  for (const id of ['id', 'rawId']) otherIds.add(`${name}.${id}`)
otherIds
  .add('PasskeyCreationOptions.id')
  .add('PasskeyRequestOptions.rpId')
  .add('DeletePasskeyReply.rpId')
  .add('CreatePasskeyRequestRequest.sessionId')
const ofProviders = [
  ...['CreateOperatorApiKeyRequest', 'OperatorApiKey', 'OperatorApiKeyEntry'].map((name) => `${name}.providerId`),
  ...['CreateScimGroupRequest', 'CreateScimUserRequest', 'ReplaceScimGroupRequest'].map((name) => `${name}.externalId`),
  ...['ReplaceScimUserRequest', 'ScimGroupEntry', 'ScimUserEntry'].map((name) => `${name}.externalId`),
  'ScimSchema.id',
]
for (const each of ofProviders) otherIds.add(each)
for (const each of ['PublicKey.keyId', 'StepUpPurpose.operationId', 'AuditLog.requestId', 'AuditLog.targetBizId'])
  otherIds.add(each)
for (const each of ['ReadRequestReply.requestId', 'ReadRequestReply.traceId', 'RequestEntry.requestId'])
  otherIds.add(each)
/** A name in the configuration. */
const isProviderId = (place: string) => place.endsWith('.providerId')

describe.each([
  ['the whole catalogue', await openApiDocument(bankingCatalogue, { version })],
  ['the whole catalogue with sealed bodies', await openApiDocument(bankingCatalogue, { version, isSealed: true })],
  ['an extension', extended],
  ['an OpenAPI document', await withDocument(extended)],
  ['a service', service],
])('the document of %s', (_name, document) => {
  const objects = objectsIn(document)
  const { components } = document
  const schemas = isJsonObject(components) && isJsonObject(components.schemas) ? components.schemas : {}

  test('has no constant boolean', () => {
    expect(objects.filter(({ const: value }) => typeof value === 'boolean')).toEqual([])
    expect(objects.filter(({ enum: values }) => Array.isArray(values) && values.includes(true))).toEqual([])
  })

  test('has UUIDs as ids in replies as in requests', () => {
    const ids = Object.entries(schemas).flatMap(([name, schema]) =>
      objectsIn(schema).flatMap(({ properties }) =>
        Object.entries(isJsonObject(properties) ? properties : {})
          .filter(([property]) => /(^|[a-z])(I|^i)d$/.test(property))
          .map(([property, each]) => ({ place: `${name}.${property}`, schema: followIn(document, each) })),
      ),
    )
    expect(ids.length).toBeGreaterThan(100)
    expect(
      ids
        .filter((each) => each.schema.format !== 'uuid')
        .map(({ place }) => place)
        .filter((place) => !otherIds.has(place) && !isProviderId(place)),
    ).toEqual([])
  })

  test('has components with short names that differ in more than their case', () => {
    for (const kind of keysOf(components)) {
      const names = keysOf(isJsonObject(components) ? components[kind] : undefined)
      expect(
        names.filter((name) => name.length > maxNameLength),
        kind,
      ).toEqual([])
      expect(duplicatesIn(names), kind).toEqual([])
    }
  })

  test('has properties, values of enums, parameters and operation ids that differ in more than their case', () => {
    for (const { properties, enum: values, parameters } of objects) {
      expect(duplicatesIn(keysOf(properties))).toEqual([])
      expect(duplicatesIn(Array.isArray(values) ? values.map(String) : [])).toEqual([])
      const declared = Array.isArray(parameters) ? parameters.map((each) => String(followIn(document, each).name)) : []
      expect(duplicatesIn(declared)).toEqual([])
    }
    const ids = objects.flatMap(({ operationId }) => (typeof operationId === 'string' ? [operationId] : []))
    expect(ids.length).toBeGreaterThan(20)
    expect(duplicatesIn(ids)).toEqual([])
  })

  test('has values of enums that begin with a letter, so that generators name them alike', () => {
    const values = objects.flatMap((each) => (Array.isArray(each.enum) ? each.enum.map(String) : []))
    expect(values.filter((value) => !/^[A-Za-z]/.test(value))).toEqual([])
  })

  test('has no schema with the name of a type that languages have', () => {
    const types =
      /^(any|array|boolean|class|date|enum|error|event|exception|file|function|integer|interface|list|map|model|module|number|object|record|request|response|set|string|symbol|type)$/i
    expect(Object.keys(schemas).filter((name) => types.test(name))).toEqual([])
  })
})

test('the documents of an extension and of its OpenAPI document have renamed the colliding components', () => {
  const names = keysOf(isJsonObject(extended.components) ? extended.components.schemas : undefined)
  expect(names).toEqual(expect.arrayContaining(['FileEntry', 'RecordEntry', 'ErrorEntry', 'EventEntry', 'WALLETEntry']))
})
