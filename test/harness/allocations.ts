import { getHeapStatistics } from 'node:v8'

/* Preloaded into a gateway. SIGUSR2 prints the bytes that V8 has allocated so far. */
process.on('SIGUSR2', () => process.stdout.write(`\nallocated ${getHeapStatistics().total_allocated_bytes} bytes\n`))
