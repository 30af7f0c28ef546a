export type { Cache, Count } from './cache.ts'
export { createMemoryCache } from './memory.ts'
export { emptyWindow, type ReplayWindow, spendIn } from './replay-window.ts'
