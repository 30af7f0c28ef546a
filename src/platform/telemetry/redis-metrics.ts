import { Gauge, type Registry } from 'prom-client'

/** In bytes, of the fullest server. A maximum of 0 means no limit. */
export interface RedisMemory {
  used: number
  max: number
}

const unknown: RedisMemory = { used: Number.NaN, max: Number.NaN }

/** The values are 0 without Redis, and NaN if it does not respond. */
export function createRedisMetrics(registry: Registry, read: () => Promise<RedisMemory>): void {
  const registers = [registry]
  const max = new Gauge({
    name: 'portico_redis_memory_max_bytes',
    help: 'Memory limit of the fullest Redis server (maxmemory); 0 without a limit',
    registers,
  })
  new Gauge({
    name: 'portico_redis_memory_bytes',
    help: 'Memory that the fullest Redis server uses; 0 without Redis',
    registers,
    async collect() {
      const memory = await read().catch(() => unknown)
      this.set(memory.used)
      max.set(memory.max)
    },
  })
}
