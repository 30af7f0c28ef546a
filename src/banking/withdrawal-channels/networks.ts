import { z } from 'zod'
import { areDistinct } from '../../config/values.ts'
import { type AddressForm, canonicalNetwork } from '../../platform/identifiers/index.ts'

const versions = z.array(z.int().min(0).max(255))
const prefixes = z.array(z.string().regex(/^[a-z0-9]{1,83}$/, 'letters in lower case and digits'))

const addressForm = z.discriminatedUnion('form', [
  z.strictObject({
    form: z.literal('eip55').describe('20 bytes in hex, with or without `0x`. Mixed case is a checksum (EIP-55).'),
  }),
  z.strictObject({
    form: z.literal('hex').describe('Bytes in hex, with or without `0x` and in any case.'),
    bytes: z.int().min(1).max(63).describe('Length of an address in bytes.'),
  }),
  z.strictObject({
    form: z.literal('base58check').describe('20 bytes with a version and a checksum.'),
    versions: versions.describe('First bytes of addresses.'),
    testVersions: versions.default([]).describe('First bytes of addresses on test networks.'),
  }),
  z.strictObject({
    form: z.literal('base58').describe('Bytes in base58 without a checksum.'),
    bytes: z.int().min(1).max(90).describe('Length of an address in bytes.'),
  }),
  z.strictObject({
    form: z
      .enum(['segwit', 'bech32'])
      .describe('Bech32 or Bech32m. `segwit` requires a witness program (BIP 173, BIP 350).'),
    prefixes: prefixes.describe('Text before the last 1 of an address.'),
    testPrefixes: prefixes.default([]).describe('Text before the last 1 of an address on a test network.'),
  }),
  z.strictObject({
    form: z.literal('text').describe('Any text, compared as written without blanks.'),
  }),
]) satisfies z.ZodType<AddressForm>

const network = z.strictObject({
  names: z
    .array(z.string().max(32).refine(canonicalNetwork, 'a letter or digit'))
    .min(1)
    .describe('Names that clients can send. Case and separators are ignored. Replies have the first.'),
  test: z.boolean().default(false).describe('Whether it is a test network, which only SANDBOX workspaces can use.'),
  addresses: z.array(addressForm).min(1).describe('Forms of its addresses.'),
})
export type Network = z.output<typeof network>

export const networksSetting = z
  .array(network)
  .refine((networks) => areDistinct(networks.flatMap(({ names }) => names.map(canonicalNetwork))), 'each name once')
  .describe(
    'Networks of CRYPTO payout accounts. Other networks get 400. Test networks and test addresses are refused in LIVE workspaces.',
  )

const evm: AddressForm[] = [{ form: 'eip55' }]
const tron: AddressForm[] = [{ form: 'base58check', versions: [65], testVersions: [] }]
const solana: AddressForm[] = [{ form: 'base58', bytes: 32 }]

/** Versions: https://github.com/bitcoin/bitcoin/blob/master/src/kernel/chainparams.cpp, and those of the other networks. */
export const defaultNetworks: Network[] = [
  live(
    ['BITCOIN', 'BTC'],
    [
      { form: 'base58check', versions: [0, 5], testVersions: [111, 196] },
      { form: 'segwit', prefixes: ['bc'], testPrefixes: ['tb', 'bcrt'] },
    ],
  ),
  live(
    ['LITECOIN', 'LTC'],
    [
      { form: 'base58check', versions: [48, 50], testVersions: [58] },
      { form: 'segwit', prefixes: ['ltc'], testPrefixes: ['tltc', 'rltc'] },
    ],
  ),
  live(['DOGECOIN', 'DOGE'], [{ form: 'base58check', versions: [30, 22], testVersions: [113] }]),
  live(['ETHEREUM', 'ETH', 'ERC20'], evm),
  live(['BSC', 'BEP20', 'BNB SMART CHAIN'], evm),
  live(['POLYGON', 'MATIC'], evm),
  live(['ARBITRUM', 'ARBITRUM ONE'], evm),
  live(['OPTIMISM'], evm),
  live(['BASE'], evm),
  live(['AVALANCHE', 'AVALANCHE C-CHAIN', 'AVAXC'], evm),
  live(['TRON', 'TRX', 'TRC20'], tron),
  live(['SOLANA', 'SOL', 'SPL'], solana),
  { names: ['SEPOLIA'], test: true, addresses: evm },
  { names: ['HOODI'], test: true, addresses: evm },
  { names: ['NILE'], test: true, addresses: tron },
  { names: ['SHASTA'], test: true, addresses: tron },
  { names: ['SOLANA DEVNET'], test: true, addresses: solana },
]

export function findNetwork(networks: readonly Network[], name: string): Network | undefined {
  const canonical = canonicalNetwork(name)
  return networks.find(({ names }) => names.some((each) => canonicalNetwork(each) === canonical))
}

function live(names: string[], addresses: AddressForm[]): Network {
  return { names, test: false, addresses }
}
