import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { catalogue } from '../../src/contract/index.ts'
import { portalRoutes, routes } from '../harness/catalogue.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { notImplemented } from './not-implemented.ts'

describe('operations without a handler', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  test('the list names operations of the catalogue only', () => {
    const ids = new Set(catalogue.map(({ id }) => id))
    expect(notImplemented.filter((id) => !ids.has(id))).toEqual([])
  })

  test('the list contains every operation without a handler, and no other one', () => {
    expect([...portico.unserved].sort()).toEqual([...notImplemented].sort())
    expect(portalRoutes.length + 14).toBe(routes.length)
  })
})
