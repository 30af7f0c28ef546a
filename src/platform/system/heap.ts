import { setFlagsFromString } from 'node:v8'

/**
 * V8 lets a heap as small as ours grow to four times what lives in it before it looks for old garbage: resident memory
 * would swing by 100 MB. From here on it looks at twice, under load every half minute. To be called after the start, which
 * it would make longer.
 */
export const keepHeapSmall = (): void => setFlagsFromString('--heap-growing-percent=100')
