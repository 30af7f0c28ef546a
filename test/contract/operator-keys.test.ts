import { expect, it } from 'vitest'
import { catalogue } from '../../src/contract/index.ts'
import { operatorKeyErrors } from '../../src/contract/permissions.ts'
import { routesOf } from './routes.ts'

it('the machine chain of operators has only reads with a permission that their API keys can hold', () => {
  const served = routesOf('systemApi').map(({ operation }) => operation)
  const ids = served.map(({ id }) => id).toSorted()
  expect(ids).toEqual(['operators.listAuditLog', 'operators.verifyAuditLog'])
  for (const operation of served) expect(operatorKeyErrors(operation)).toEqual([])
  for (const operation of catalogue.filter(({ id }) => !ids.includes(id)))
    expect(operatorKeyErrors({ ...operation, chains: ['systemApi'] }), operation.id).toHaveLength(1)
})
