/* Preloaded with --expose-gc. SIGUSR2 collects garbage, so that only live memory is measured. */
process.on('SIGUSR2', () => {
  // The second collection frees what finalizers of the first one released.
  globalThis.gc?.()
  globalThis.gc?.()
})
