import { expect, test } from 'vitest'
import { isAllowedAddress, isReceiverUrl } from '../../../src/platform/webhooks/addresses.ts'

const production = {
  allowLoopback: false,
  ownNames: ['portal.example.com', '20.1.2.3', '[2a00:1450::1]', 'gate.test.'],
}
const development = { allowLoopback: true, ownNames: ['127.0.0.1'] }

const refusedAddresses = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.100.100.200', '127.0.0.1', '127.255.0.1', '169.254.169.254'],
  ...['172.16.0.1', '172.31.255.255', '192.168.1.1', '192.0.0.192', '192.0.2.1', '192.88.99.1', '198.18.0.1'],
  ...['198.51.100.7', '203.0.113.9', '224.0.0.1', '240.0.0.1', '255.255.255.255', '168.63.129.16'],
  ...['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '100::1', '5f00::1'],
  ...['::ffff:10.0.0.1', '::ffff:8.8.8.8', '::ffff:0:8.8.8.8', '::127.0.0.1', '::8.8.8.8'],
  ...['64:ff9b::127.0.0.1', '64:ff9b::8.8.8.8', '64:ff9b:1::a9fe:a9fe', '2002:7f00:1::1', '2001:0:4136:e378::1'],
  ...['2001:db8::1', '2001:2::1', '2001:10::1', '2001:20::1', '3fff::1', '2606:4700::5efe:7f00:1'],
  ...['2606:4700::200:5efe:a00:1', '4000::1', 'example.com', ''],
]

test.each(refusedAddresses)('isAllowedAddress: refuses %s', (address) => {
  expect(isAllowedAddress(address, { allowLoopback: false, protocol: 'https:', ownAddresses: [] })).toBe(false)
})

test('isAllowedAddress: accepts public addresses, except those of this machine in any notation', () => {
  const rules = { allowLoopback: false, protocol: 'https:', ownAddresses: ['9.9.9.9', '2606:4700:0:0::1111'] }
  for (const address of ['8.8.8.8', '2606:4700::2', '2a00:1450::1']) expect(isAllowedAddress(address, rules)).toBe(true)
  for (const address of ['9.9.9.9', '2606:4700::1111']) expect(isAllowedAddress(address, rules)).toBe(false)
})

test.each([
  ...['http://example.com/', 'ftp://example.com/', 'javascript:alert(1)', 'example.com', '//example.com', ''],
  ...[
    'https://user@example.com/',
    'https://user:secret@example.com/',
    'https://example.com/#',
    'https://example.com/#a',
  ],
  ...['https://example.com:22/', 'https://example.com:25/', 'https://example.com:80/', 'https://example.com:1023/'],
  ...['https://portal.example.com/', 'https://PORTAL.example.com./', 'https://20.1.2.3/', 'https://0x14010203/'],
  ...['https://[2a00:1450:0::1]/', 'https://gate.test/'],
  ...['https://localhost/', 'https://a.localhost./', 'https://127.0.0.1/', 'https://127.1/', 'https://2130706433/'],
  ...['https://0x7f.1/', 'https://0177.0.0.1/', 'https://127.0.0.1./', 'https://[::1]/', 'https://[::ffff:7f00:1]/'],
  ...['https://0xa9fea9fe/', 'https://[fe80::1%25eth0]/', 'https://[64:ff9b::a9fe:a9fe]/', 'https://１２７.0.0.1/'],
  `https://example.com/${'a'.repeat(2_048)}`,
])('isReceiverUrl in production: refuses %s', (url) => {
  expect(isReceiverUrl(url, production)).toBe(false)
})

test('isReceiverUrl: accepts https on port 443 and unprivileged ports', () => {
  for (const url of ['https://example.com/hooks?a=1', 'https://example.com:8443/', 'https://8.8.8.8/'])
    expect(isReceiverUrl(url, production)).toBe(true)
})

test('isReceiverUrl in development: accepts http for loopback addresses only', () => {
  for (const url of [
    'http://127.0.0.1:3000/',
    'http://localhost:3000/',
    'http://[::1]:3000/',
    'https://localhost:3000/',
  ])
    expect(isReceiverUrl(url, development)).toBe(true)
  for (const url of ['http://example.com:3000/', 'http://8.8.8.8:3000/', 'http://10.0.0.1:3000/', 'http://127.0.0.1/'])
    expect(isReceiverUrl(url, development)).toBe(false)
})
