/** The third portal of tests, and its access code. */
export const merchant = { portal: 'MERCHANT', prefix: 'merchant' } as const
export const merchantCode = 'merchant-dev'
