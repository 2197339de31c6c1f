import { createHash } from 'node:crypto';

/** A Lua script and the name under which Redis keeps it once it has run. */
export interface Script {
  lua: string;
  sha: string;
}

const script = (lua: string): Script => ({ lua, sha: createHash('sha1').update(lua).digest('hex') });

/**
 * KEYS[1] lock, ARGV[1] owner. Deletes the lock if that owner has it. 1 deleted, 0 not its own (or gone).
 * Nobody can release a lock that another has taken over in the meantime.
 */
export const RELEASE = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`);

/**
 * KEYS[1] lock, ARGV[1] owner, ARGV[2] lease in ms. Starts the lease anew if that owner has it. 1 renewed, 0 not its own.
 * Never creates the key: a lock that was lost in between stays lost.
 */
export const RENEW = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`);
