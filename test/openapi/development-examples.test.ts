import { describe, expect, it } from 'vitest'
import { bankingCatalogue, catalogue } from '../../src/contract/index.ts'
import { openApiDocument, readExamples, withValues } from '../../src/openapi/index.ts'
import { toJsonObject } from '../../src/openapi/json.ts'
import { developmentIds, developmentPassword, developmentValues } from '../../src/seed/development.ts'
import { faultsOfExample } from '../harness/recording/check.ts'
import { document, objectAt } from './document-reader.ts'

const recorded = readExamples(new URL('../../docs/examples.json', import.meta.url))
const { operations } = withValues(recorded, developmentValues)

describe('examples with the values of the development seed', () => {
  it('sign the owner in and transfer between the demo wallets', () => {
    expect(operations.get('auth.loginInitiate')?.request).toEqual({
      email: 'owner@demo.test',
      password: developmentPassword,
    })
    expect(operations.get('transfers.create')?.request).toMatchObject({
      sourceWalletBizId: developmentIds.mainUsd,
      targetWalletBizId: developmentIds.savingsUsd,
      currency: 'USD',
    })
    expect(operations.get('wallets.read')?.params).toEqual({ wallet_id: developmentIds.mainUsd })
  })

  it('have the same ids in request and reply', () => {
    expect(operations.get('transfers.create')?.reply).toMatchObject({
      data: { sourceWalletBizId: developmentIds.mainUsd, targetWalletBizId: developmentIds.savingsUsd },
    })
  })

  it('match the schemas of their operations', () => {
    const faults = catalogue.flatMap((operation) => {
      const example = operations.get(operation.id)
      return example ? faultsOfExample(operation, example).map((fault) => `${operation.id}: ${fault}`) : []
    })
    expect(operations.size).toBe(recorded.operations.size)
    expect(faults).toEqual([])
  })

  it('are absent from the document by default', async () => {
    expect(JSON.stringify(document)).not.toMatch(new RegExp(`${developmentPassword}|${developmentIds.workspace}`))
    const workspaceId = developmentIds.workspace
    const { components } = await openApiDocument(bankingCatalogue, { version: '1.0.0', workspaceId })
    expect(objectAt(components ?? null, 'parameters', 'WorkspaceId').example).toBe(workspaceId)
    expect(toJsonObject(objectAt(document, 'components', 'parameters', 'WorkspaceId'))).not.toHaveProperty('example')
  })
})
