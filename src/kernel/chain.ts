/**
 * The ways in. A chain is a path prefix with its perimeter: which portal it belongs to, whether the portal
 * and edge headers of section 4.1 are demanded, and the envelope version that it speaks (section 9).
 */
export const portals = ['CONSUMER', 'SYSTEM'] as const
export type Portal = (typeof portals)[number]

export interface Chain {
  prefix: string
  /** `code`: whichever portal the access code names; `token`: whichever portal the token names. */
  portal: Portal | 'code' | 'token'
  perimeter: 'portal' | 'self' | 'machine'
  envelope: string
}

export const chains = {
  consumer: { prefix: '/web/v1/consumer', portal: 'CONSUMER', perimeter: 'portal', envelope: '2.0.0' },
  system: { prefix: '/web/v1/system', portal: 'SYSTEM', perimeter: 'portal', envelope: '2.0.0' },
  shared: { prefix: '/web/v1', portal: 'code', perimeter: 'portal', envelope: '2.0.0' },
  self: { prefix: '/web/v1/users/self', portal: 'token', perimeter: 'self', envelope: '1.3.0' },
  api: { prefix: '/api/v1/consumer', portal: 'CONSUMER', perimeter: 'machine', envelope: '2.0.0' },
} as const satisfies Record<string, Chain>

export type ChainId = keyof typeof chains

/** The portal that a chain belongs to; null where the access code or the token decides. */
export const portalOfChain = ({ portal }: Chain): Portal | null =>
  portal === 'code' || portal === 'token' ? null : portal

const isChainId = (text: string): text is ChainId => Object.hasOwn(chains, text)

/** The longest prefix first: one may stand below another. */
const byPrefix = Object.keys(chains)
  .filter(isChainId)
  .sort((a, b) => chains[b].prefix.length - chains[a].prefix.length)

/** The chain that a path stands below, whether or not there is anything; the CONSUMER portal's where it is none's. */
export const chainAt = (path: string): ChainId =>
  byPrefix.find((id) => `${path}/`.startsWith(`${chains[id].prefix}/`)) ?? 'consumer'
