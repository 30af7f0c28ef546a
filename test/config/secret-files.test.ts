import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { productionKey } from '../harness/settings.ts'
import { configurationFile } from './configuration-file.ts'

const { errorsOf, folder, load } = configurationFile()

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

describe('secrets in files', () => {
  const file = join(folder, 'secret-key')
  const inFile = (content: string): Variables => {
    writeFileSync(file, content)
    return { PORTICO_SECRET_KEY_FILE: file }
  }
  const keysOf = (variables: Variables) => load({}, variables).secretKeys.reveal()

  test('PORTICO_SECRET_KEY_FILE: its content without trailing line breaks is the key', () => {
    expect(base64(keysOf(inFile(`${productionKey}\r\n\n`)).current)).toBe(productionKey)
  })

  test('PORTICO_SECRET_KEY_PREVIOUS: several keys, also from a file', () => {
    const others = [hash('sha256', 'one', 'base64'), hash('sha256', 'two', 'base64')]
    writeFileSync(join(folder, 'previous'), `${others.join(',')}\n`)
    for (const variables of [
      { PORTICO_SECRET_KEY_PREVIOUS: others.join(',') },
      { PORTICO_SECRET_KEY_PREVIOUS_FILE: join(folder, 'previous') },
    ])
      expect(keysOf({ PORTICO_SECRET_KEY: productionKey, ...variables }).previous.map(base64)).toEqual(others)
  })

  test.each<[string, () => Variables, string]>([
    [
      'an unreadable file',
      () => ({ PORTICO_SECRET_KEY_FILE: join(folder, 'missing') }),
      `PORTICO_SECRET_KEY_FILE: cannot read ${join(folder, 'missing')} (ENOENT); check its path and permissions`,
    ],
    ['an empty file', () => inFile('\n'), `PORTICO_SECRET_KEY_FILE: ${file} is empty; write the value into it`],
    [
      'another value',
      () => inFile('not a key'),
      'PORTICO_SECRET_KEY: must be 32 bytes in base64, such as from `openssl rand -base64 32`',
    ],
    [
      'both variables',
      () => ({ ...inFile(productionKey), PORTICO_SECRET_KEY: productionKey }),
      'PORTICO_SECRET_KEY_FILE: cannot be combined with PORTICO_SECRET_KEY; unset one',
    ],
    [
      'a previous key that is the current one',
      () => ({ PORTICO_SECRET_KEY: productionKey, PORTICO_SECRET_KEY_PREVIOUS: productionKey }),
      'PORTICO_SECRET_KEY_PREVIOUS: must not repeat a key, nor contain PORTICO_SECRET_KEY',
    ],
    [
      'a malformed previous key',
      () => ({
        PORTICO_SECRET_KEY: productionKey,
        PORTICO_SECRET_KEY_PREVIOUS: `${hash('sha256', 'one', 'base64')},hidden`,
      }),
      'PORTICO_SECRET_KEY_PREVIOUS: must be 32 bytes in base64, such as from `openssl rand -base64 32`',
    ],
  ])('refuses %s', (_name, variables, error) => {
    expect(errorsOf({}, variables())).toContain(error)
  })
})
