import { describe, expect, test } from 'vitest'
import { registerPerimeter, registerValidation } from '../../../src/testing/suites/index.ts'
import { portalRoutes, routes, routesOfTopology } from '../../harness/catalogue.ts'
import { needsStore } from '../../harness/needs.ts'
import { bankingSamples } from '../../harness/samples.ts'
import { describeSuites } from '../../harness/world.ts'

/** The fields of a factor depend on its method. */
const factor = { mfaMethod: 'OTP', code: '123456' }
const signIn = () => ({ body: { sessionId: 'A'.repeat(43), ...factor } })
const samples = {
  ...bankingSamples,
  'auth.loginComplete': signIn,
  'browserSessions.start': signIn,
  'mfa.stepUp': () => ({ body: factor }),
}

describe('the perimeter', needsStore(), () => {
  describeSuites(
    {},
    (suite, portico) => {
      describe('headers and tokens', () => registerPerimeter(routesOfTopology(), suite))
      // The secure channel checks its opening body itself, with another code.
      const validated = routesOfTopology().filter(({ operation }) => operation.id !== 'secureChannel.open')
      describe('validation', () => registerValidation(validated, suite))

      test('the catalogue has operations on the portal chains and on the machine chain', () => {
        expect(portalRoutes.length).toBeGreaterThan(150)
        expect(routes.filter(({ chainId }) => chainId === 'api')).toHaveLength(11)
      })

      test.each([
        ...['1', '127.1', '0x7f.0.0.1', '010.0.0.1', '203.0.113.7, 203.0.113.8', '203.0.113.256'],
        ...['fe80::1%eth0', '203.0.113.7\u00a0', '\u00a0203.0.113.7'],
      ])('400 VALIDATION.INVALID_PARAMETER where CF-Connecting-IP is %s', async (address) => {
        const [route] = portalRoutes
        const response =
          route && (await portico().call(route.method, route.path, { headers: { 'cf-connecting-ip': address } }))
        expect([response?.status, response?.body.message]).toEqual([
          400,
          'invalid request parameters: cf-connecting-ip',
        ])
      })
    },
    samples,
  )
})
