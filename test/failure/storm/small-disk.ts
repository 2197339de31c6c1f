import { open, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '#service';
import { spawnProgram } from '#testing';

export type MountedDisk = { state: 'mounted'; disk: SmallDisk } | { state: 'refused'; reason: string };

const CHUNK = Buffer.alloc(64 * 1024);

/** A file system of its own that can be filled to the last byte. Needs the right to mount. */
export class SmallDisk {
  private constructor(readonly path: string) {}

  static async mount(path: string, megabytes: number): Promise<MountedDisk> {
    await mkdir(path, { recursive: true });
    const mount = spawnProgram('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', path]);
    const { code } = await mount.exited.catch(() => ({ code: -1 }));
    if (code === 0) return { state: 'mounted', disk: new SmallDisk(path) };
    return { state: 'refused', reason: mount.stderr.trim() || 'mount cannot be run here' };
  }

  /** Leaves no room: the next byte that anybody writes is one too many. */
  async fill(): Promise<void> {
    const file = await open(this.filler, 'a');
    try {
      for (let chunk = CHUNK; chunk.length > 0;)
        try {
          await file.write(chunk);
        } catch (error) {
          if (errorCode(error) !== 'ENOSPC') throw error;
          chunk = chunk.subarray(0, Math.floor(chunk.length / 2));
        }
    } finally {
      await file.close();
    }
  }

  async free(): Promise<void> {
    await rm(this.filler, { force: true });
  }

  async unmount(): Promise<void> {
    await spawnProgram('umount', ['--lazy', this.path]).exited;
  }

  private get filler(): string {
    return join(this.path, 'filler');
  }
}
