import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerCatalogue, registerPerimeter, routesOn, toRunner, World } from '../../src/testing/suites/index.ts'
import { routes } from '../harness/catalogue.ts'
import { addMerchant, registerMerchant, signInMerchant } from '../harness/merchant.ts'
import { merchant } from '../harness/merchant-portal.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'
import { toGateway } from '../harness/world.ts'

/** The generated suites in which the portal makes a difference. All others see only accounts and workspaces. */
describe('the perimeter of a portal that the configuration declares', () => {
  const routesOfMerchant = routesOn(merchant, routes)
  let portico: Portico
  let opened: World | undefined
  beforeAll(async () => {
    portico = await startPortico({ adjust: (settings) => addMerchant(settings) })
    await registerMerchant(portico, 'shop@merchant.test')
    const owner = await signInMerchant(portico, 'shop@merchant.test')
    const { accessToken } = await signIn(portico)
    // Tokens of CONSUMER are those of another portal here.
    const consumer = { accessToken, clientHash: owner.clientHash }
    opened = World.of(toGateway(portico), { owner, viewer: owner, operator: consumer }, {})
  })
  afterAll(() => portico?.stop())
  const world = () => {
    if (!opened) throw new Error('the gateway has not started')
    return opened
  }
  const suite = { runner: toRunner({ describe, test, beforeAll, afterAll, expect }), world }

  test('it has the consumer chain and the machine chain', () => {
    expect(routesOfMerchant.filter(({ path }) => path.startsWith('/web/v1/merchant/')).length).toBeGreaterThan(140)
    expect(routesOfMerchant.filter(({ path }) => path.startsWith('/api/v1/merchant/'))).toHaveLength(11)
  })

  describe('headers and tokens', () => registerPerimeter(routesOfMerchant, suite))
  describe('OpenAPI and typed client', () =>
    registerCatalogue(routesOfMerchant, suite, { codes: {}, contract: [], mount: merchant }))
})
