import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { listTransfers } from '../../../src/banking/transfers/contract.ts'
import { createClientResolver } from '../../../src/gateway/index.ts'
import { Headers } from '../../../src/gateway/pipeline/headers.ts'
import { arrivedCall } from '../../harness/call.ts'
import { testSettings } from '../../harness/settings.ts'

const { portals } = testSettings({})
portals.CONSUMER.edge = { kind: 'direct', trustedProxies: ['10.0.0.0/8', 'fd00::/8', '::ffff:172.16.0.0/108'] }
portals.SYSTEM.edge = { kind: 'cloudflare', trustedProxies: ['10.0.0.0/8'] }
const resolveClient = createClientResolver(portals)

/** Node's own parser reads the headers. */
function seen(portal: 'CONSUMER' | 'SYSTEM', peer: string, name: string, values: string[]) {
  const headers = new Headers({
    headers: { [name]: values.join(', ') },
    rawHeaders: values.flatMap((each) => [name, each]),
  })
  const call = arrivedCall(listTransfers, { chainId: portal === 'SYSTEM' ? 'system' : 'consumer', headers, peer })
  resolveClient(call, portal)
  return [call.clientIp, call.edgeTrusted]
}

describe('the client behind an edge that forwards', () => {
  const forwarded = (peer: string, ...values: string[]) => seen('CONSUMER', peer, 'x-forwarded-for', values)

  test.each([
    ['the last hop', '203.0.113.9', '203.0.113.9'],
    ['the hop before trusted hops', '203.0.113.9, fd00::2, 10.0.0.2', '203.0.113.9'],
    ['not an entry that the client added', '198.51.100.1, 203.0.113.9,10.0.0.2', '203.0.113.9'],
    ['a trusted hop after an invalid address', '203.0.113.9, unknown, 10.0.0.2', '10.0.0.2'],
    ['the first hop if all are trusted', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['an IPv4 address in canonical form', '::ffff:203.0.113.9', '203.0.113.9'],
    ['an IPv6 address in canonical form', '2001:DB8:0:0::1', '2001:db8::1'],
    ['an IPv4 address with a port', '203.0.113.9:51234, 10.0.0.2:443', '203.0.113.9'],
    ['an IPv6 address with a port', '[2001:db8::1]:51234', '2001:db8::1'],
    ['the peer for an invalid port', '203.0.113.9:unknown', '10.0.0.1'],
    ['the peer for an address that parsers read differently', '010.0.0.1', '10.0.0.1'],
    ['the same with a port', '010.0.0.1:443', '10.0.0.1'],
    ['the peer without a hop', '', '10.0.0.1'],
    ['the peer for an IPv6 address with a zone id', 'fe80::1%eth0', '10.0.0.1'],
    ['the peer for non-ASCII white space around the address', '203.0.113.9\u00a0', '10.0.0.1'],
    ['an address between spaces and tabs', '198.51.100.1 ,\t203.0.113.9 \t', '203.0.113.9'],
  ])('is %s', (_name, hops, client) => {
    expect(forwarded('10.0.0.1', hops)).toEqual([client, true])
  })

  test('is the peer for a repeated X-Forwarded-For', () => {
    expect(forwarded('10.0.0.1', '203.0.113.9', '203.0.113.10')).toEqual(['10.0.0.1', true])
  })

  test('an IPv4-mapped IPv6 peer is trusted as its IPv4 address', () => {
    expect(forwarded('::ffff:10.0.0.1', '203.0.113.9')).toEqual(['203.0.113.9', true])
  })

  test('an IPv4-mapped range trusts the IPv4 peer', () => {
    expect(forwarded('172.16.0.1', '203.0.113.9')).toEqual(['203.0.113.9', true])
  })

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
  ])('is the untrusted peer %s, regardless of its headers', (peer, client) => {
    expect(forwarded(peer, '203.0.113.9')).toEqual([client, false])
  })
})

describe('the client behind Cloudflare', () => {
  const connecting = (peer: string, ...values: string[]) => seen('SYSTEM', peer, 'cf-connecting-ip', values)

  test.each(['fe80::1%eth0', '203.0.113.9\u00a0', '\u2003203.0.113.9'])(
    'is the peer if CF-Connecting-IP is %j',
    (address) => {
      expect(connecting('10.0.0.1', address)).toEqual(['10.0.0.1', true])
    },
  )

  test('is the address that a trusted peer reports in a single header', () => {
    expect(connecting('10.0.0.1', '203.0.113.9')).toEqual(['203.0.113.9', true])
    expect(connecting('10.0.0.1', '203.0.113.9', '203.0.113.9')).toEqual(['10.0.0.1', true])
    expect(connecting('2001:db8::1', '203.0.113.9')).toEqual(['2001:db8::1', false])
  })
})

test('each portal trusts its own proxies at every hop', () => {
  const own = testSettings({}).portals
  own.CONSUMER.edge = { kind: 'direct', trustedProxies: ['10.0.0.0/8'] }
  own.SYSTEM.edge = { kind: 'direct', trustedProxies: ['10.0.0.1/32', '172.16.0.0/12'] }
  const resolveOwn = createClientResolver(own)
  const hops = '203.0.113.9, 172.16.0.2, 10.0.0.2'
  const fields = { headers: { 'x-forwarded-for': hops }, rawHeaders: ['x-forwarded-for', hops] }
  const call = arrivedCall(listTransfers, { headers: new Headers(fields), peer: '10.0.0.1' })
  const clientAt = (portal: 'CONSUMER' | 'SYSTEM') => {
    resolveOwn(call, portal)
    return call.clientIp
  }
  expect([clientAt('CONSUMER'), clientAt('SYSTEM')]).toEqual(['172.16.0.2', '10.0.0.2'])
})

describe('the edge is checked beyond the trusted peer', () => {
  const sha256 = (text: string): string => hash('sha256', text)
  const edges = testSettings({}).portals
  edges.SYSTEM.edge = {
    kind: 'cloudflare',
    trustedProxies: ['10.0.0.5/32', '10.0.0.6/32'],
    cloudflareRanges: ['173.245.48.0/20', '2400:cb00::/32'],
  }
  edges.CONSUMER.edge = {
    kind: 'cloudflare',
    trustedProxies: ['10.0.0.5/32'],
    secretHeader: { name: 'x-edge-secret', sha256: [sha256('old'), sha256('new')] },
  }
  const resolve = createClientResolver(edges)
  const trusted = (portal: 'CONSUMER' | 'SYSTEM', fields: [string, string][], peer = '10.0.0.5') => {
    const all: [string, string][] = [['cf-connecting-ip', '203.0.113.9'], ...fields]
    const headers = new Headers({ headers: Object.fromEntries(all), rawHeaders: all.flat() })
    const call = arrivedCall(listTransfers, { chainId: portal === 'SYSTEM' ? 'system' : 'consumer', headers, peer })
    resolve(call, portal)
    return [call.clientIp, call.edgeTrusted]
  }
  const hops = (...values: string[]) =>
    trusted(
      'SYSTEM',
      values.map((value) => ['x-forwarded-for', value]),
    )

  test.each([
    ['an address of Cloudflare', '173.245.48.7'],
    ['an IPv6 address of Cloudflare', '2400:cb00::1'],
    ['Cloudflare before another trusted proxy', '198.51.100.1, 173.245.48.7, 10.0.0.6'],
  ])('accepts the previous hop: %s', (_name, value) => {
    expect(hops(value)).toEqual(['203.0.113.9', true])
  })

  test.each([
    ['an address of the internet', ['198.51.100.1']],
    ['Cloudflare, added by the client', ['173.245.48.7, 198.51.100.1']],
    ['no hop', []],
    ['an invalid address', ['173.245.48.7, unknown']],
    ['trusted proxies only', ['10.0.0.6']],
    ['a repeated header', ['173.245.48.7', '173.245.48.8']],
  ])('does not trust the previous hop: %s', (_name, values) => {
    expect(hops(...values)).toEqual(['10.0.0.5', false])
  })

  test.each(['old', 'new'])('accepts the secret of the edge during its rotation: %s', (secret) => {
    expect(trusted('CONSUMER', [['x-edge-secret', secret]])).toEqual(['203.0.113.9', true])
  })

  test.each<[string, [string, string][]]>([
    ['another secret', [['x-edge-secret', 'other']]],
    ['the digest', [['x-edge-secret', sha256('new')]]],
    ['no secret', []],
    [
      'a repeated secret',
      [
        ['x-edge-secret', 'new'],
        ['x-edge-secret', 'new'],
      ],
    ],
  ])('does not trust %s', (_name, fields) => {
    expect(trusted('CONSUMER', fields)).toEqual(['10.0.0.5', false])
  })

  test('does not trust another peer with the secret', () => {
    expect(trusted('CONSUMER', [['x-edge-secret', 'new']], '10.0.0.7')).toEqual(['10.0.0.7', false])
  })
})
