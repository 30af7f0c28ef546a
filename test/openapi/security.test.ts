import { describe, expect, it } from 'vitest'
import { catalogueOfPortal } from '../../src/compose/catalogue.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'
import { takesTicket } from '../../src/contract/policies.ts'
import { chains } from '../../src/kernel/index.ts'
import { openApiDocument } from '../../src/openapi/index.ts'
import { documentedRoutes } from '../contract/routes.ts'
import { document, objectAt, operationOf } from './document-reader.ts'

describe.each(documentedRoutes)('$chain $operation.id', ({ chain, operation }) => {
  const documented = operationOf(chain, operation.id)

  it('needs the access code and the client hash together with a credential of its caller', () => {
    const isAnonymous = operation.policy.caller === 'anonymous'
    const credentials = [
      ...(isAnonymous ? [{}] : [{ accessToken: [] }]),
      ...(isAnonymous && !operation.describesCaller ? [] : [{ sessionCookie: [] }]),
    ]
    const behind = (...codes: object[]) =>
      credentials.flatMap((credential) => codes.map((code) => ({ ...code, clientHash: [], ...credential })))
    const byTicket = takesTicket(operation, chains[chain]) ? [{ sessionCookie: [] }] : []
    const [consumer, system] = [{ consumerAccessCode: [] }, { systemAccessCode: [] }]
    expect(documented.security).toEqual(
      {
        consumer: [...behind(consumer), ...byTicket],
        system: [...behind(system), ...byTicket],
        shared: behind(consumer, system),
        self: [...behind({}), ...byTicket],
        api: [{ accessToken: [], clientHash: [] }, { apiKey: [] }],
        systemApi: [{ operatorApiKey: [] }],
      }[chain],
    )
  })
})

describe('the document', () => {
  it('has headers as security schemes, with the value that the development gateway accepts', () => {
    const schemes = objectAt(document, 'components', 'securitySchemes')
    const names = ['consumerAccessCode', 'systemAccessCode', 'clientHash', 'accessToken', 'sessionCookie']
    expect(Object.keys(schemes)).toEqual([...names, 'apiKey', 'operatorApiKey'])
    const accessCode = { type: 'apiKey', in: 'header', name: 'X-PORTAL-ACCESS-CODE' }
    expect(schemes.consumerAccessCode).toMatchObject({ ...accessCode, 'x-example': 'consumer-dev' })
    expect(schemes.systemAccessCode).toMatchObject({ ...accessCode, 'x-example': 'system-dev' })
    expect(schemes.clientHash).toMatchObject({ type: 'apiKey', in: 'header', name: 'X-Client-Hash' })
  })

  it.each([
    ['CONSUMER', 'consumerAccessCode'],
    ['SYSTEM', 'systemAccessCode'],
  ] as const)('of %s needs the access code of this portal only', async (portal, scheme) => {
    const limited = await openApiDocument(catalogueOfPortal(bankingCatalogue, portal), { version: '1.0.0' })
    const schemes = Object.keys(objectAt(limited.components ?? null, 'securitySchemes'))
    expect(schemes.filter((name) => name.endsWith('AccessCode'))).toEqual([scheme])
    const open = objectAt(limited, 'paths', '/web/v1/secure-channel/session', 'post')
    expect(open.security).toEqual([{ [scheme]: [], clientHash: [] }])
  })
})
