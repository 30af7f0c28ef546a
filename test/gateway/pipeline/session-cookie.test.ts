import { expect, test } from 'vitest'
import { Headers } from '../../../src/gateway/pipeline/headers.ts'
import { createSessionCookies } from '../../../src/gateway/pipeline/session-cookie.ts'
import { testSettings } from '../../harness/settings.ts'

const cookies = createSessionCookies({ ...testSettings({}), publicUrl: 'https://portal.example' })
const value = 'A'.repeat(43)
const pair = `__Host-portico-consumer=${value}`

function read(cookie: string) {
  const headers = new Headers({ headers: { cookie }, rawHeaders: ['cookie', cookie] })
  return cookies.read({ headers, portal: 'CONSUMER' })
}

test('read: blanks around a pair are ignored', () => {
  for (const cookie of [pair, `a=1; ${pair}`, `a=1;\t ${pair} ;b=2`]) expect(read(cookie)?.value).toBe(value)
})

test('read: a name that browsers do not treat as __Host- is another cookie', () => {
  // A sub-domain can set these. Node decodes headers as Latin-1, where 0xA0 is a no-break space.
  for (const blank of ['\u00a0', '\v', '\f', '\u00c2\u00a0']) {
    expect(read(`${blank}${pair}`)).toBeUndefined()
    expect(read(`${pair}; ${blank}${pair}`)?.value).toBe(value)
  }
})

test('read: names differ by case, and a pair without a name is another cookie', () => {
  for (const cookie of [`__host-portico-consumer=${value}`, `portico-consumer=${value}`, `=${pair}`, value])
    expect(read(cookie)).toBeUndefined()
})

test.each(['https://portal.example', 'HTTPS://Portal.example'])(
  'format: %s gets the prefix and Secure',
  (publicUrl) => {
    const { format } = createSessionCookies({ ...testSettings({}), publicUrl })
    expect(format('SYSTEM', value)).toBe(`__Host-portico-system=${value}; Path=/; HttpOnly; SameSite=Strict; Secure`)
  },
)
