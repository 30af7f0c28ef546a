import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/faults/**', 'test/browser/**', 'test/load/**', '**/node_modules/**'],
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // Each worker may hold an embedded PostgreSQL of several hundred megabytes.
    maxWorkers: 2,
  },
})
