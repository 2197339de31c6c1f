import type { JobQueue } from './job-queue.js';

// Clocks of sound hosts differ by less.
const TOLERANCE_MS = 5_000;
const LOOKS = 200;

/*
 * Puts delayed jobs back into their time, by the clock of Redis.
 * KEYS[1] delayed set, KEYS[2] marker that wakes workers; ARGV[1] key prefix of the queue, ARGV[2] tolerance in ms,
 * ARGV[3] jobs to look at. Returns how many were moved.
 * - A job that has longer to wait than its whole delay was put there by a clock that is ahead: it waits its delay from now.
 * - A job that is overdue was not taken, since the clocks of the workers are behind: it is due for all of them.
 * Scores are milliseconds times 4096, as BullMQ keeps them.
 */
const REPAIR = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local tolerance, limit = tonumber(ARGV[2]), ARGV[3]
  local moved = 0
  local ahead = redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', (now + tolerance) * 4096, 'WITHSCORES', 'LIMIT', 0, limit)
  for i = 1, #ahead, 2 do
    local delay = tonumber(redis.call('HGET', ARGV[1] .. ahead[i], 'delay') or 0) or 0
    if tonumber(ahead[i + 1]) > (now + delay + tolerance) * 4096 then
      redis.call('ZADD', KEYS[1], (now + delay) * 4096, ahead[i])
      moved = moved + 1
    end
  end
  local overdue = redis.call('ZRANGEBYSCORE', KEYS[1], 1, (now - tolerance) * 4096, 'LIMIT', 0, limit)
  for _, id in ipairs(overdue) do
    redis.call('ZADD', KEYS[1], 0, id)
    moved = moved + 1
  end
  if moved > 0 then redis.call('ZADD', KEYS[2], 0, '0') end
  return moved
`;

/**
 * BullMQ judges delays by the clock of the process that delays a job and of the one that fetches it. One process whose
 * clock is an hour ahead would put a job off by an hour for all others. Any process may repair, also several at once.
 */
export async function repairDelays(queue: JobQueue): Promise<void> {
  const keys = ['delayed', 'marker', ''].map((key) => queue.toKey(key));
  const moved = await queue.ask('repair delays of', (client) =>
    client.eval(REPAIR, 2, ...keys, TOLERANCE_MS, LOOKS),
  );
  if (Number(moved) > 0)
    queue.owner.settings.logger.warn(
      { queue: queue.name, jobs: moved },
      'delayed jobs were out of their time; check the clocks of the hosts (NTP)',
    );
}
