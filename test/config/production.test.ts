import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigurationError, loadConfiguration } from '../../src/config/index.ts'
import { root } from '../harness/settings.ts'

const faultsOf = (file: string): string[] => {
  try {
    loadConfiguration(
      {
        PORTICO_PROFILE: 'production',
        PORTICO_CONFIG: join(root, file),
        PORTICO_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
        SMTP_URL: 'smtp://mail.example.com',
      },
      root,
    )
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults
    throw error
  }
}

test('the example for production is refused for its access codes, which everybody can read, and for nothing else', () => {
  expect(faultsOf('config/production.example.yaml')).toEqual([
    'portals.CONSUMER.accessCodes: holds the code of an example',
    'portals.SYSTEM.accessCodes: holds the code of an example',
  ])
})
