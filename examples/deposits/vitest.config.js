/* The first start of a gateway creates a store, which takes longer than the default time limits of vitest. */
export default { test: { hookTimeout: 120_000, testTimeout: 60_000 } }
