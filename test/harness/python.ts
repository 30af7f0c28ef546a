import { spawnSync } from 'node:child_process'

function findPython(modules: string): string | undefined {
  return ['python3', '/usr/bin/python3'].find((program) => spawnSync(program, ['-c', `import ${modules}`]).status === 0)
}

/** The reason to skip a test that needs `python`. */
export const noPython = 'the Python packages jwt and cryptography are not installed'

/** A Python that has the packages of the example services. Undefined if this machine has none. */
export const python = findPython('jwt, cryptography')

/** A Python that has the packages of the FastAPI service. Undefined if this machine has none. */
export const pythonWithFastApi = findPython('jwt, cryptography, fastapi, uvicorn')
