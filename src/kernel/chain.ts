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
  self: { prefix: '/web/v1', portal: 'token', perimeter: 'self', envelope: '1.3.0' },
  api: { prefix: '/api/v1/consumer', portal: 'CONSUMER', perimeter: 'machine', envelope: '2.0.0' },
} as const satisfies Record<string, Chain>

export type ChainId = keyof typeof chains
