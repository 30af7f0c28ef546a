import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { credentialProtocol } from '../../../src/contract/header-values.ts'
import { acceptKey, isHandshake, readHandshake } from '../../../src/gateway/sockets/handshake.ts'

const valid = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

function requestWith(headers: Record<string, string>, method = 'GET', httpVersion = '1.1'): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  request.headers = headers
  request.rawHeaders = Object.entries(headers).flat()
  return Object.assign(request, { method, httpVersion })
}

function read(protocols: string, headers: Record<string, string> = {}) {
  return readHandshake(requestWith({ ...valid, 'sec-websocket-protocol': protocols, ...headers }))
}

test('acceptKey: the example of RFC 6455', () => {
  expect(acceptKey('dGhlIHNhbXBsZSBub25jZQ==')).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
})

describe('isHandshake', () => {
  test('accepts a handshake, in any case of Upgrade', () => {
    expect(isHandshake(requestWith(valid))).toBe(true)
    expect(isHandshake(requestWith({ ...valid, upgrade: 'WebSocket' }))).toBe(true)
  })

  test.each<[string, Record<string, string>, string?, string?]>([
    ['POST', {}, 'POST'],
    ['HTTP/1.0', {}, 'GET', '1.0'],
    ['another upgrade', { upgrade: 'h2c' }],
    ['a list of upgrades', { upgrade: 'websocket, h2c' }],
    ['another version', { 'sec-websocket-version': '8' }],
    ['two versions', { 'sec-websocket-version': '13, 13' }],
    ['a short key', { 'sec-websocket-key': 'abc=' }],
    ['two keys', { 'sec-websocket-key': `${valid['sec-websocket-key']}, ${valid['sec-websocket-key']}` }],
    ['an empty body', { 'content-length': '0' }],
    ['a chunked body', { 'transfer-encoding': 'chunked' }],
    ['Expect', { expect: '100-continue' }],
  ])('rejects %s', (_name, headers, method, version) => {
    expect(isHandshake(requestWith({ ...valid, ...headers }, method, version))).toBe(false)
  })
})

describe('readHandshake', () => {
  test('moves the carried headers from the subprotocols to the headers', () => {
    const token = credentialProtocol.format('authorization', 'Bearer abc')
    const { handshake, received } = read(`prices.v1, portico,${token}, prices.v2`)
    expect(handshake).toMatchObject({ protocols: ['prices.v1', 'prices.v2'], offersFallback: true, extensions: null })
    expect(received.headers.authorization).toBe('Bearer abc')
    expect(received.rawHeaders.slice(-2)).toEqual(['authorization', 'Bearer abc'])
  })

  const malformed: [string, string][] = [
    ['an empty protocol', 'a,,b'],
    ['a space', 'a b'],
    ['a repeated protocol', 'a, a'],
    ['no value', 'portico, portico.authorization.'],
    ['another encoding', 'portico, portico.authorization.QmVhcmVy='],
    ['a second spelling of a value', 'portico, portico.x-locale.ZW5='],
    ['unused bits', 'portico, portico.x-locale.ZW4x-'],
    ['a line break', `portico, portico.x-locale.${Buffer.from('en\r\nx: y').toString('base64url')}`],
    ['a name in upper case', 'portico, portico.X-Locale.ZW4'],
    ['a header of the edge', `portico, ${credentialProtocol.format('cf-connecting-ip', '192.0.2.1')}`],
    ['no protocol portico', credentialProtocol.format('x-locale', 'en')],
  ]
  test.each(malformed)('400 VALIDATION.INVALID_PARAMETER: %s', (_name, protocols) => {
    expect(() => read(protocols)).toThrow(expect.objectContaining({ code: 'VALIDATION.INVALID_PARAMETER' }))
  })

  test('400 VALIDATION.INVALID_PARAMETER: malformed extensions', () => {
    const tooLong = { 'sec-websocket-extensions': 'x'.repeat(1_025) }
    expect(() => read('a', tooLong)).toThrow(expect.objectContaining({ code: 'VALIDATION.INVALID_PARAMETER' }))
  })
})
